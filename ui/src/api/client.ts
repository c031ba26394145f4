import createClient from "openapi-fetch";

import { noteServiceTime } from "../state/clock";
import { noteReached } from "../state/reachability";
import { refuse, session } from "../state/session";
import { basePath } from "./base";
import { problemOf, unreachable } from "./problem";
import type { paths } from "./schema";

/** A read without an answer after so long will have none: its connection is dead, or it was forgotten on its way. */
export const ANSWER_MS = 10_000;
/** So long, where the service has been as slow as that. */
export const LONGEST_ANSWER_MS = 60_000;
/** And the end of an answer that has begun. */
const WHOLE_ANSWER_MS = 120_000;

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
  // A change is not given up: whether it was made would not be known.
  const read = patientRead(transport.fetch);
  const client = createClient<paths>({
    baseUrl: transport.base,
    fetch: (request) => (request.method === "GET" ? read(request) : transport.fetch(request)),
  });
  client.use({
    onRequest({ request }) {
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

/** Reads that end; each one that was given up lets the next ones wait longer, until one is answered. */
function patientRead(fetch: Transport["fetch"]): (request: Request) => Promise<Response> {
  let patience = ANSWER_MS;
  return async (request) => {
    const giveUp = new AbortController();
    const gaveUp = () => giveUp.abort(new DOMException("It was not answered in time.", "TimeoutError"));
    const leave = () => giveUp.abort(request.signal.reason);
    if (request.signal.aborted) leave();
    request.signal.addEventListener("abort", leave);
    const own = patience;
    const timer = setTimeout(() => {
      // Many at the same time are one reason.
      patience = Math.max(patience, Math.min(2 * own, LONGEST_ANSWER_MS));
      gaveUp();
    }, own);
    try {
      const response = await fetch(request, { signal: giveUp.signal });
      patience = ANSWER_MS;
      setTimeout(gaveUp, WHOLE_ANSWER_MS);
      return response;
    } finally {
      clearTimeout(timer);
    }
  };
}

export const api = makeClient({
  fetch: (...request) => fetch(...request),
  base: basePath,
  key: () => session.get().key,
  onRefused: refuse,
  onReached: noteReached,
  onTime: (date) => noteServiceTime(date),
});
