/** The part of a log that was read: its newest entries without holes, down to some entry. */

import type { LogEntry } from "../../../core/log";

export interface LogWindow {
  /** Ascending; entry numbers follow each other. */
  entries: readonly LogEntry[];
  /** Changes when entries are replaced instead of added: what was made of them is void. */
  epoch: number;
}

export const EMPTY: LogWindow = { entries: [], epoch: 0 };

export const firstOf = (window: LogWindow): number => window.entries[0]?.seq ?? 0;
export const lastOf = (window: LogWindow): number => window.entries.at(-1)?.seq ?? 0;
/** Whether it begins with the first entry of the log, so that it can be folded. */
export const isWhole = (window: LogWindow): boolean => firstOf(window) === 1;

/** With a page that was read; a page that does not touch the window replaces it. */
export function withPage(window: LogWindow, page: readonly LogEntry[]): LogWindow {
  const found = page.length > 1 && (page[0] as LogEntry).seq > (page.at(-1) as LogEntry).seq ? [...page].reverse() : page;
  const [first, last] = [found[0]?.seq, found.at(-1)?.seq];
  if (first === undefined || last === undefined) return window;
  if (window.entries.length === 0) return { entries: found, epoch: window.epoch };
  const [begin, end] = [firstOf(window), lastOf(window)];
  if (first >= begin && last <= end) return window;
  if (first > end + 1 || last < begin - 1) return { entries: found, epoch: window.epoch + 1 };
  const older = found.filter((entry) => entry.seq < begin);
  const newer = found.filter((entry) => entry.seq > end);
  return { entries: [...older, ...window.entries, ...newer], epoch: window.epoch };
}
