/** Ids begin with the moment at which they were made: the beginning of one is a span of time. */

const TIME_DIGITS = 12;
const SHORTEST = 4;
const LATEST_MS = 253_402_214_400_000;
/** An id is made a moment before its instance is accepted. */
const SLACK_MS = 60_000;

const WHOLE = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export interface MeantPrefix {
  kind: "prefix";
  prefix: string;
  /** The span of time in which such ids are made. */
  createdFrom: string;
  createdBefore: string;
}

export type Meant = { kind: "id"; id: string } | MeantPrefix;

/** What a text means where it is a whole id or the beginning of one; null: it is neither. */
export function meantId(text: string): Meant | null {
  const typed = text.trim().toLowerCase();
  if (WHOLE.test(typed)) return { kind: "id", id: typed };
  const digits = typed.replaceAll("-", "");
  // A number or a word that happens to be hexadecimal is more often something else.
  if (!/^[0-9a-f]+$/.test(digits) || digits.length < SHORTEST || digits.length > 32 || !/^[0-9a-f]{4,8}(-|$)/.test(typed)) return null;
  const missing = TIME_DIGITS - Math.min(digits.length, TIME_DIGITS);
  const first = Number.parseInt(digits.slice(0, TIME_DIGITS), 16) * 16 ** missing;
  if (first >= LATEST_MS) return null;
  const end = Math.min(first + 16 ** missing, LATEST_MS);
  const at = (ms: number): string => new Date(Math.max(ms, 0)).toISOString();
  return { kind: "prefix", prefix: typed, createdFrom: at(first - SLACK_MS), createdBefore: at(end + SLACK_MS) };
}
