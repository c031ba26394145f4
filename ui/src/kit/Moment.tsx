import { useEffect, useState } from "react";

import { duration, exactUtc, moment } from "../core/format";
import { usePreferences } from "../state/preferences";

/** The present, renewed at this interval while the component is shown. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === "visible" && setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
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
