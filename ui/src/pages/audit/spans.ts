/** The spans of time that the log can be narrowed to; "" is all of it. */
export const SPANS: readonly (readonly [string, string])[] = [
  ["", "all time"],
  ["1h", "the last hour"],
  ["24h", "the last 24 hours"],
  ["7d", "the last 7 days"],
  ["30d", "the last 30 days"],
];

const HOURS: Readonly<Record<string, number>> = { "1h": 1, "24h": 24, "7d": 168, "30d": 720 };

/** When a span begins; null: it has no beginning, as one that is not known. */
export function spanStart(span: string, now: number): string | null {
  const hours = Object.hasOwn(HOURS, span) ? HOURS[span] : undefined;
  return hours === undefined ? null : new Date(now - hours * 3_600_000).toISOString();
}
