/** How a status looks: an icon, a word and a colour. Statuses of instances, steps, tasks and deliveries share the table. */
export type Tone = "neutral" | "blue" | "violet" | "amber" | "green" | "red" | "orange" | "slate";
export type Mark = "clock" | "ring" | "antenna" | "loop" | "bars" | "check" | "cross" | "slash" | "hollow" | "back" | "unknown";

export interface StatusLook {
  word: string;
  tone: Tone;
  mark: Mark;
}

/** The shapes of the marks, in a square of 16. */
export const MARKS: Record<Mark, string> = {
  clock: "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M8 5v3.2l2 1.3",
  ring: "M8 2.5a5.5 5.5 0 1 1-5.5 5.5",
  antenna: "M4.2 11.8a5.4 5.4 0 0 1 0-7.6M11.8 4.2a5.4 5.4 0 0 1 0 7.6M6.3 9.7a2.4 2.4 0 0 1 0-3.4M9.7 6.3a2.4 2.4 0 0 1 0 3.4M8 8v.01",
  loop: "M13 8a5 5 0 1 1-1.5-3.5M13 2.5v2.7h-2.7",
  bars: "M6 4v8M10 4v8",
  check: "M3.5 8.5l3 3l6-7",
  cross: "M4.5 4.5l7 7M11.5 4.5l-7 7",
  slash: "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M4.2 11.8l7.6-7.6",
  hollow: "M8 4a4 4 0 1 0 0 8a4 4 0 1 0 0-8",
  back: "M6.5 4L3 7.5L6.5 11M3 7.5h6.5a3.5 3.5 0 0 1 0 7",
  unknown: "M5.8 6a2.3 2.3 0 1 1 3.4 2c-.8.5-1.2.9-1.2 1.8M8 12.3v.01",
};

const LOOKS: Record<string, StatusLook> = {
  CREATED: { word: "Queued", tone: "neutral", mark: "clock" },
  PENDING: { word: "Pending", tone: "neutral", mark: "hollow" },
  QUEUED: { word: "Queued", tone: "neutral", mark: "clock" },
  RUNNING: { word: "Running", tone: "blue", mark: "ring" },
  WAITING: { word: "Waiting", tone: "violet", mark: "antenna" },
  WAITING_FOR_EVENT: { word: "Waiting for event", tone: "violet", mark: "antenna" },
  RETRYING: { word: "Retrying", tone: "amber", mark: "loop" },
  PAUSED: { word: "Paused", tone: "neutral", mark: "bars" },
  COMPLETED: { word: "Completed", tone: "green", mark: "check" },
  FAILED: { word: "Failed", tone: "red", mark: "cross" },
  CANCELLED: { word: "Cancelled", tone: "slate", mark: "slash" },
  SKIPPED: { word: "Skipped", tone: "neutral", mark: "hollow" },
  COMPENSATING: { word: "Compensating", tone: "orange", mark: "back" },
  COMPENSATED: { word: "Compensated", tone: "orange", mark: "back" },
  COMPLETED_WITH_ERRORS: { word: "Completed with errors", tone: "amber", mark: "check" },
  ACTIVE: { word: "Active", tone: "green", mark: "check" },
  DISABLED: { word: "Disabled", tone: "red", mark: "bars" },
  OPEN: { word: "Open", tone: "red", mark: "cross" },
  CLOSED: { word: "Closed", tone: "green", mark: "check" },
  HALF_OPEN: { word: "Half open", tone: "amber", mark: "loop" },
  FAILING: { word: "Failing", tone: "amber", mark: "loop" },
  UNREADABLE: { word: "Unreadable", tone: "red", mark: "unknown" },
  EXPIRED: { word: "Expired", tone: "slate", mark: "clock" },
  REVOKED: { word: "Revoked", tone: "slate", mark: "slash" },
  ASKED: { word: "Asked", tone: "neutral", mark: "hollow" },
  DONE: { word: "Done", tone: "green", mark: "check" },
  REFUSED: { word: "Refused", tone: "amber", mark: "slash" },
  OVERDUE: { word: "Overdue", tone: "red", mark: "clock" },
  CONNECTED: { word: "Connected", tone: "green", mark: "check" },
  STARTED: { word: "Started", tone: "green", mark: "check" },
  MISSED: { word: "Missed", tone: "amber", mark: "clock" },
  ERROR: { word: "In error", tone: "red", mark: "cross" },
  ON_HOLD: { word: "On hold", tone: "amber", mark: "bars" },
  SILENT: { word: "Silent", tone: "amber", mark: "unknown" },
};

/** The look of a status; one that this version does not know is shown as it is, neutrally. */
export function statusLook(status: string): StatusLook {
  const name = status.toUpperCase().replaceAll("-", "_");
  const known = Object.hasOwn(LOOKS, name) ? LOOKS[name] : undefined;
  return known ?? { word: status || "Unknown", tone: "neutral", mark: "unknown" };
}
