import { useQueries, useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import { read, send } from "../../api/queries";
import type { InstanceParams } from "../../core/search";
import type { Instance } from "./exporting";
import type { MeantPrefix } from "./prefix";
import { rowsOf, unseen, type Children } from "./rows";
import { usePages } from "./usePages";

const REFRESH_MS = 2_000;
/** Rows that pass by are not asked for. */
const RESTED_MS = 250;
const HEAD = 100;
const MOST_CHILDREN = 100;
/** Of one read of instances by their ids. */
const MOST_FRESH = 100;

const NO_ITEMS: readonly Instance[] = [];
const NO_FRESH: ReadonlyMap<string, Instance> = new Map();

/** Instances by a filter, with the children of those in `opened`. What is in sight is kept fresh, and nothing moves: new ones wait
 * until they are asked for. */
export function useInstances(params: InstanceParams, isReady: boolean, opened: readonly string[]) {
  const pages = usePages(params, isReady);
  const { items, readAgain } = pages;
  const isEmpty = items.length === 0;

  const head = useQuery({
    ...read("/api/v1/instances", { query: { ...params, limit: HEAD } }),
    enabled: isReady && !pages.isPending,
    refetchInterval: REFRESH_MS,
  });
  const first = head.data?.items ?? NO_ITEMS;
  const news = useMemo(() => unseen(first, items).length, [first, items]);
  useEffect(() => {
    // Where there is nothing yet, nothing can move.
    if (isEmpty && news > 0) readAgain();
  }, [isEmpty, news, readAgain]);

  const families = useQueries({
    queries: opened.map((parentId) => ({ ...read("/api/v1/instances", { query: { parentId, limit: MOST_CHILDREN } }), refetchInterval: REFRESH_MS })),
    combine: combined,
  });
  const children = useMemo(() => new Map(opened.map((id, place) => [id, families[place] as Children])), [opened, families]);

  const [seen, setSeen] = useState("");
  const visible = useQuery({
    ...read("/api/v1/instances", { query: { ids: seen, limit: MOST_FRESH } }),
    enabled: seen !== "",
    refetchInterval: REFRESH_MS,
    gcTime: 0,
  });
  const [latest, setLatest] = useState(NO_FRESH);
  useEffect(() => {
    const found = visible.data?.items;
    if (found !== undefined) setLatest((before) => new Map([...before, ...found.map((item) => [item.id, item] as const)]));
  }, [visible.data]);
  // What was read again is newer than what was kept fresh.
  useEffect(() => setLatest(NO_FRESH), [items[0]?.id]);

  const rows = useMemo(() => rowsOf(items, latest, children), [items, latest, children]);
  const resting = useRef<ReturnType<typeof setTimeout> | null>(null);
  const onVisible = useCallback(
    (from: number, to: number) => {
      const ids = rows.slice(from, to + 1).flatMap((row) => (row.kind === "instance" ? [row.item.id] : []));
      if (resting.current !== null) clearTimeout(resting.current);
      resting.current = setTimeout(() => setSeen([...new Set(ids)].slice(0, MOST_FRESH).join(",")), RESTED_MS);
    },
    [rows],
  );
  useEffect(() => () => void (resting.current !== null && clearTimeout(resting.current)), []);
  return { ...pages, rows, news: isEmpty ? 0 : news, isMoreNews: news >= HEAD, onVisible };
}

interface Family {
  data: { items: readonly Instance[]; nextCursor: string | null } | undefined;
  isPending: boolean;
  error: Error | null;
}

const combined = (results: readonly Family[]): Children[] =>
  results.map(({ data, isPending, error }) => ({
    items: data?.items ?? NO_ITEMS,
    isPending,
    hasMore: (data?.nextCursor ?? null) !== null,
    error: error?.message ?? null,
  }));

/** The ids that begin with a text, of the span of time that it stands for. */
export async function idsBeginning({ prefix, createdFrom, createdBefore }: MeantPrefix): Promise<string[]> {
  const page = await send("get", "/api/v1/instances", { query: { createdFrom, createdBefore, limit: 1_000 } });
  return page.items.flatMap(({ id }) => (id.startsWith(prefix) ? [id] : []));
}
