/** Moments, durations and sizes as people read them. */

export type TimesAs = "local" | "utc" | "relative";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** A duration in two units at most: "320 ms", "3.2 s", "4 m 12 s", "2 d 23 h". */
export function duration(ms: number): string {
  const length = Math.abs(ms);
  const sign = ms < 0 ? "−" : "";
  if (length < SECOND) return `${sign}${Math.round(length)} ms`;
  // Rounded first, so that 59.96 s never reads as "60.0 s".
  const tenths = Math.round(length / 100) / 10;
  if (tenths < 10) return `${sign}${tenths.toFixed(1)} s`;
  const seconds = Math.round(length / SECOND);
  if (seconds < 60) return `${sign}${seconds} s`;
  if (seconds < 3_600) return sign + units(seconds, 60, "m", 1, "s");
  if (seconds < 86_400) return sign + units(seconds, 3_600, "h", 60, "m");
  return sign + units(seconds, 86_400, "d", 3_600, "h");
}

function units(seconds: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((seconds % large) / small);
  return `${Math.floor(seconds / large)} ${largeName}${rest === 0 ? "" : ` ${rest} ${smallName}`}`;
}

/** "just now", "4 m ago", "in 2 d 23 h". */
export function relative(at: number, now: number): string {
  const distance = at - now;
  if (Math.abs(distance) < SECOND) return "just now";
  const coarse = Math.abs(distance) < MINUTE ? `${Math.floor(Math.abs(distance) / SECOND)} s` : duration(Math.abs(distance));
  return distance < 0 ? `${coarse} ago` : `in ${coarse}`;
}

/** The exact moment in UTC, to the millisecond: "2026-11-16 20:31:13.070 UTC". */
export function exactUtc(at: number): string {
  return isMoment(at) ? new Date(at).toISOString().replace("T", " ").replace("Z", " UTC") : "unknown";
}

interface Formats {
  time: Intl.DateTimeFormat;
  day: Intl.DateTimeFormat;
  date: Intl.DateTimeFormat;
  dateOfYear: Intl.DateTimeFormat;
}

const formats = new Map<TimesAs, Formats>();

/** To make a format takes longer than to draw the row that it is for: each is made once. */
function formatsOf(as: TimesAs): Formats {
  const zone = as === "utc" ? { timeZone: "UTC" } : {};
  const made = formats.get(as) ?? {
    time: new Intl.DateTimeFormat("en-GB", { ...zone, hour: "2-digit", minute: "2-digit", second: "2-digit" }),
    day: new Intl.DateTimeFormat("en-CA", { ...zone, year: "numeric", month: "2-digit", day: "2-digit" }),
    date: new Intl.DateTimeFormat("en-GB", { ...zone, day: "numeric", month: "short" }),
    dateOfYear: new Intl.DateTimeFormat("en-GB", { ...zone, day: "numeric", month: "short", year: "numeric" }),
  };
  formats.set(as, made);
  return made;
}

/** A moment in the viewer's zone (or UTC); the day is left out where it is today. */
export function moment(at: number, as: TimesAs, now: number): string {
  if (!isMoment(at)) return "unknown";
  if (as === "relative") return relative(at, now);
  const { time, day, date, dateOfYear } = formatsOf(as);
  const [then, today] = [day.format(at), day.format(now)];
  const words = `${time.format(at)}${as === "utc" ? " UTC" : ""}`;
  if (then === today) return words;
  return `${(then.slice(0, 4) === today.slice(0, 4) ? date : dateOfYear).format(at)}, ${words}`;
}

const isMoment = (at: number): boolean => Number.isFinite(at) && Math.abs(at) <= 8.64e15;

/** "512 B", "3.4 KB", "1.2 MB". */
export function size(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  const power = Math.min(Math.floor(Math.log2(bytes) / 10), 4);
  const value = bytes / 1_024 ** power;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${["B", "KB", "MB", "GB", "TB"][power] ?? "TB"}`;
}

const COUNT = new Intl.NumberFormat("en-GB");
/** "1,284". */
export const count = (value: number): string => COUNT.format(value);

/** "1 instance", "1,284 instances". */
export const counted = (value: number, one: string, many = `${one}s`): string => `${count(value)} ${value === 1 ? one : many}`;
