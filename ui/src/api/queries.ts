import {
  infiniteQueryOptions,
  type QueryClient,
  queryOptions,
  useInfiniteQuery,
  useMutation,
  useQueryClient,
  type UseMutationOptions,
  type UseMutationResult,
} from "@tanstack/react-query";
import { useMemo } from "react";

import { api } from "./client";
import { FreshQueryClient } from "./freshQueryClient";
import { ApiProblem, unreachable } from "./problem";
import type { Answer, BodyOf, Item, ListPath, Maybe, Method, Params, PathsOf } from "./types";

declare module "@tanstack/react-query" {
  interface Register {
    defaultError: ApiProblem;
  }
}

/** How often lists are read again while their page is visible. */
export const LIST_REFRESH_MS = 5_000;
/** So often where the socket tells of news: for what it may not tell. */
export const TOLD_REFRESH_MS = 30_000;
/** So often, where it is a small part of a page: what is lost on its way is missing no longer. */
export const CHECK_MS = 10_000;
/** A list that was read further is long, and each of its pages would be read again. */
const MOST_REFRESHED_PAGES = 3;
const MOST_ATTEMPTS = 3;
/** What could not be read for a reason that may pass is read again so much later. */
export const READ_AGAIN_MS = 5_000;

/** In so many milliseconds what could not be read is read again; false: it is refused until something else happens. */
export function readAgainMs(error: unknown): number | false {
  // A program that fails may be better the next time.
  const mayPass = error instanceof ApiProblem && (error.isTransient || error.status >= 500);
  return mayPass && Math.max(READ_AGAIN_MS, (error.retryAfter ?? 0) * 1_000);
}

export function makeQueryClient(): QueryClient {
  return new FreshQueryClient({
    defaultOptions: {
      queries: {
        staleTime: 1_000,
        // A refusal stays one; only what may pass is tried again.
        retry: (count, error) => error instanceof ApiProblem && error.isTransient && count < MOST_ATTEMPTS,
        retryDelay: (count, error) => (error.retryAfter ?? 0) * 1_000 || Math.min(500 * 2 ** count, 8_000),
        // A page that nothing happens to would show what was, for as long as it is open.
        refetchInterval: ({ state: { status, error } }) => status === "error" && readAgainMs(error),
        // "Offline" of a browser says nothing about a service on the same machine.
        networkMode: "always",
      },
      mutations: { networkMode: "always" },
    },
  });
}

type Call = (path: string, init: object) => Promise<{ data?: unknown }>;

async function call(method: Method, path: string, init: object): Promise<unknown> {
  const operation = api[method.toUpperCase() as "GET"] as unknown as Call;
  try {
    return (await operation(path, init)).data;
  } catch (error) {
    // The connection broke in the middle of the answer.
    throw error instanceof TypeError ? unreachable() : error;
  }
}

/** The query of one read: `useQuery(read("/api/v1/instances/{id}", {path: {id}}))`.
 *
 * Its key is the path and the parameters, so that `["/api/v1/instances/{id}"]` refreshes them all. */
export function read<P extends PathsOf<"get">>(path: P, ...[params]: Maybe<Params<P, "get">>) {
  return queryOptions<Answer<P, "get">>({
    queryKey: [path, params ?? {}],
    queryFn: async ({ signal }) => (await call("get", path, { params, signal })) as Answer<P, "get">,
  });
}

/** The query of a list by cursor; `useList` reads it. */
export function list<P extends ListPath>(path: P, ...[params]: Maybe<Params<P, "get">>) {
  const given: { query?: object } = params ?? {};
  return infiniteQueryOptions({
    queryKey: [path, given, "pages"] as const,
    queryFn: async ({ signal, pageParam }) => {
      const query = { ...given.query, ...(pageParam === null ? {} : { cursor: pageParam }) };
      const answer = await call("get", path, { params: { ...given, query }, signal });
      return answer as { items: Item<P>[]; nextCursor: string | null };
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
  });
}

/** A list as far as it was read, and how to read on. Its beginning is kept fresh while it is visible. */
export function useList<P extends ListPath>(path: P, ...params: Maybe<Params<P, "get">>) {
  return useListEvery(LIST_REFRESH_MS, path, ...params);
}

/** A list that is kept fresh so often. */
export function useListEvery<P extends ListPath>(everyMs: number, path: P, ...params: Maybe<Params<P, "get">>) {
  const queries = useQueryClient();
  const options = list(path, ...params);
  const query = useInfiniteQuery({
    ...options,
    refetchInterval: ({ state }) => (state.data?.pages.length ?? 0) <= MOST_REFRESHED_PAGES && everyMs,
  });
  const items = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data]);
  return {
    items,
    error: query.error,
    isPending: query.isPending,
    /** False where the service says that it has not looked at everything. */
    isComplete: query.data?.pages.every((page) => !("isComplete" in page) || page.isComplete !== false) ?? true,
    hasMore: query.hasNextPage,
    isReadingMore: query.isFetchingNextPage,
    readMore: () => void (query.hasNextPage && !query.isFetchingNextPage && query.fetchNextPage()),
    refresh: () => void query.refetch(),
    /** Read it again as far as it was read, unless that is far. */
    freshen: () => void ((query.data?.pages.length ?? 0) <= MOST_REFRESHED_PAGES && queries.invalidateQueries({ queryKey: options.queryKey, exact: true })),
  };
}

type Sent<P extends PathsOf<M>, M extends Method> = Params<P, M> &
  (BodyOf<P, M> extends undefined ? object : { body?: BodyOf<P, M> }) & { headers?: Record<string, string> };

/** One call that changes something: `send("post", "/api/v1/instances/{id}/pause", {path: {id}})`. */
export async function send<M extends Method, P extends PathsOf<M>>(
  method: M,
  path: P,
  ...[given]: Maybe<Sent<P, M>>
): Promise<Answer<P, M>> {
  const { body, headers, ...params }: { body?: unknown; headers?: object } = given ?? {};
  return (await call(method, path, { params, headers, body })) as Answer<P, M>;
}

/** A file, whole. */
export async function fileOf<P extends PathsOf<"get">>(path: P, ...[params]: Maybe<Params<P, "get">>): Promise<Blob> {
  return (await call("get", path, { params, parseAs: "blob" })) as Blob;
}

/** One call whose body is no JSON, such as a file. */
export async function sendText<P extends PathsOf<"post">>(path: P, { media, text, ...params }: Params<P, "post"> & { media: string; text: string }): Promise<Answer<P, "post">> {
  return (await call("post", path, { params, body: text, headers: { "content-type": media }, bodySerializer: (body: string) => body })) as Answer<P, "post">;
}

/** A change that a button makes: pending, refused, done. Afterwards everything on the page is read again. */
export function useAct<Given, Done>(
  act: (given: Given) => Promise<Done>,
  done?: (result: Done, given: Given) => void,
): UseMutationResult<Done, ApiProblem, Given> {
  const queries = useQueryClient();
  return useMutation(actOf(queries, act, done));
}

export function actOf<Given, Done>(
  queries: QueryClient,
  act: (given: Given) => Promise<Done>,
  done?: (result: Done, given: Given) => void,
): UseMutationOptions<Done, ApiProblem, Given> {
  return {
    mutationFn: act,
    onSuccess: (result, given) => done?.(result, given),
    // Not awaited: it would be pending for as long as the slowest read of the page, twice.
    onSettled: () => void queries.invalidateQueries(),
  };
}
