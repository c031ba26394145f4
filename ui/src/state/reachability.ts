import { makeStore } from "./store";

/** Since when no request reached the service; null while they do. */
export const unreachableSince = makeStore<number | null>(null);

export function noteReached(isReached: boolean, now = Date.now()): void {
  if (isReached) unreachableSince.set(null);
  else if (unreachableSince.get() === null) unreachableSince.set(now);
}
