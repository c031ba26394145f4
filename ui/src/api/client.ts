import createClient from "openapi-fetch";

import { noteServiceTime } from "../state/clock";
import { noteReached } from "../state/reachability";
import { refuse, session } from "../state/session";
import { basePath } from "./base";
import { patientRead } from "./patience";
import { problemOf, unreachable } from "./problem";
import type { paths } from "./schema";

/** What the client needs of the world, so that tests can give their own. */
export interface Transport {
  fetch: typeof fetch;
  base: string;
  key(): string | null;
  /** A key was refused: null, where none was sent. */
  onRefused(key: string | null): void;
  onReached(isReached: boolean): void;
  /** The time that an answer names. */
  onTime(date: string | null): void;
}

/** The typed client: each call resolves with its answer, or rejects with an `ApiProblem`. */
export function makeClient(transport: Transport) {
  const templates = new WeakMap<Request, string>();
  // A change is not given up: whether it was made would not be known.
  const read = patientRead(transport.fetch, (request) => templates.get(request) ?? new URL(request.url).pathname);
  const client = createClient<paths>({
    baseUrl: transport.base,
    fetch: (request) => (request.method === "GET" ? read(request) : transport.fetch(request)),
  });
  client.use({
    onRequest({ request, schemaPath }) {
      templates.set(request, schemaPath);
      const key = transport.key();
      if (key !== null) request.headers.set("authorization", `Bearer ${key}`);
      return request;
    },
    async onResponse({ request, response }) {
      transport.onReached(true);
      transport.onTime(response.headers.get("date"));
      if (response.ok || response.status === 304) return;
      if (response.status === 401) {
        transport.onRefused(request.headers.get("authorization")?.replace(/^Bearer /, "") ?? null);
      }
      throw await problemOf(response);
    },
    onError({ error }) {
      // Who aborts a request knows why; anything else that fetch throws means that nothing was reached.
      if (error instanceof DOMException && error.name === "AbortError") return;
      transport.onReached(false);
      return unreachable();
    },
  });
  return client;
}

export const api = makeClient({
  fetch: (...request) => fetch(...request),
  base: basePath,
  key: () => session.get().key,
  onRefused: refuse,
  onReached: noteReached,
  onTime: (date) => noteServiceTime(date),
});
