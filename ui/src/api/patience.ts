import { unreachable } from "./problem";

/** A read without an answer after so long will have none: its connection is dead, or it was forgotten on its way. */
export const ANSWER_MS = 15_000;
/** So long, where that path of the service has been as slow as that. */
export const LONGEST_ANSWER_MS = 120_000;
/** And the end of an answer that has begun. */
export const WHOLE_ANSWER_MS = 120_000;
/** They take as long as the audit log is: to give one up would be to begin it anew, for ever. */
const UNLIMITED: ReadonlySet<string> = new Set(["/api/v1/audit/verify", "/api/v1/audit/export"]);

/** Reads that end. Each one that was given up lets the next ones of the same path wait longer, until that path answers: a path
 * that waits for its turn in the service would lose its place each time, and its work would be made again.
 *
 * `pathOf` gives the path, without what differs from one instance to the next. Whatever is given up is a service that cannot be
 * reached. */
export function patientRead(fetch: typeof globalThis.fetch, pathOf: (request: Request) => string): (request: Request) => Promise<Response> {
  // Those that are not as at the beginning.
  const patiences = new Map<string, number>();
  const answered = (path: string, tookMs: number): void => {
    // One that has just been as slow will hardly be quicker the next time.
    const needed = Math.min(2 * tookMs, LONGEST_ANSWER_MS);
    if (needed > ANSWER_MS) patiences.set(path, needed);
    else patiences.delete(path);
  };
  return async (request) => {
    if (UNLIMITED.has(pathOf(request))) return fetch(request);
    const path = `${pathOf(request)}?${filtersOf(request)}`;
    const giveUp = new AbortController();
    const leave = () => giveUp.abort(request.signal.reason);
    if (request.signal.aborted) leave();
    request.signal.addEventListener("abort", leave);
    let isGivenUp = false;
    const gaveUp = () => {
      isGivenUp = true;
      giveUp.abort();
    };
    const began = performance.now();
    const own = patiences.get(path) ?? ANSWER_MS;
    let timer = setTimeout(() => {
      // Many at the same time are one reason.
      patiences.set(path, Math.max(patiences.get(path) ?? ANSWER_MS, Math.min(2 * own, LONGEST_ANSWER_MS)));
      gaveUp();
    }, own);
    try {
      const response = await fetch(request, { signal: giveUp.signal });
      clearTimeout(timer);
      answered(path, performance.now() - began);
      if (response.body === null) return response;
      timer = setTimeout(gaveUp, WHOLE_ANSWER_MS);
      const { status, statusText, headers } = response;
      return new Response(await response.arrayBuffer(), { status, statusText, headers });
    } catch (error) {
      throw isGivenUp ? unreachable() : error;
    } finally {
      clearTimeout(timer);
      request.signal.removeEventListener("abort", leave);
    }
  };
}

/** A list with a filter is slower than the same one without it. */
const filtersOf = ({ url }: Request): string => [...new Set(new URL(url).searchParams.keys())].sort().join("&");
