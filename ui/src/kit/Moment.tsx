import { useCallback, useSyncExternalStore } from "react";

import { duration, exactUtc, moment } from "../core/format";
import { serviceNow } from "../state/clock";
import { usePreferences } from "../state/preferences";

/** One clock for all components that are renewed at the same interval: a list has a hundred of them. */
interface Clock {
  now: number;
  shown: Set<() => void>;
  timer: ReturnType<typeof setInterval> | undefined;
}

const clocks = new Map<number, Clock>();

function clockOf(everyMs: number): Clock {
  const clock = clocks.get(everyMs) ?? { now: serviceNow(), shown: new Set(), timer: undefined };
  clocks.set(everyMs, clock);
  // A clock that stood still is set before it is read.
  if (clock.timer === undefined && serviceNow() - clock.now >= everyMs) clock.now = serviceNow();
  return clock;
}

function subscribed(everyMs: number, listener: () => void): () => void {
  const clock = clockOf(everyMs);
  clock.shown.add(listener);
  clock.timer ??= setInterval(() => {
    if (document.visibilityState !== "visible") return;
    clock.now = serviceNow();
    for (const each of [...clock.shown]) each();
  }, everyMs);
  return () => {
    clock.shown.delete(listener);
    if (clock.shown.size > 0) return;
    clearInterval(clock.timer);
    clock.timer = undefined;
  };
}

/** The present, renewed at this interval while the component is shown. */
export function useNow(everyMs: number): number {
  const subscribe = useCallback((listener: () => void) => subscribed(everyMs, listener), [everyMs]);
  return useSyncExternalStore(subscribe, () => clockOf(everyMs).now);
}

/** A moment as the viewer prefers it, with the exact UTC on hover. */
export function Moment({ at }: { at: string | number | null | undefined }) {
  const { times } = usePreferences();
  const now = useNow(times === "relative" ? 1_000 : 60_000);
  if (at === null || at === undefined) return <span aria-label="none">–</span>;
  const ms = typeof at === "number" ? at : Date.parse(at);
  if (Number.isNaN(ms)) return <span>{String(at)}</span>;
  return (
    <time dateTime={new Date(ms).toISOString()} title={exactUtc(ms)}>
      {moment(ms, times, now)}
    </time>
  );
}

/** The length between two moments; without an end it counts on. */
export function Duration({ from, to, ms }: { from?: string | null; to?: string | null; ms?: number }) {
  if (ms !== undefined) return <span title={`${ms} ms`}>{duration(ms)}</span>;
  if (from === null || from === undefined) return <span aria-label="none">–</span>;
  const start = Date.parse(from);
  return to === null || to === undefined ? <Running since={start} /> : <Duration ms={Date.parse(to) - start} />;
}

function Running({ since }: { since: number }) {
  const now = useNow(1_000);
  // The clocks of service and browser may differ: nothing has run for a negative time.
  return <span>{duration(Math.max(0, now - since))}</span>;
}
