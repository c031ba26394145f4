/** How a status looks: an icon, a word and a colour. Statuses of instances, steps, tasks and deliveries share the table. */
export type Tone = "neutral" | "blue" | "violet" | "amber" | "green" | "red" | "orange" | "slate";
export type Mark = "clock" | "ring" | "antenna" | "loop" | "bars" | "check" | "cross" | "slash" | "hollow" | "back" | "unknown";

export interface StatusLook {
  word: string;
  tone: Tone;
  mark: Mark;
}

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
};

/** The look of a status; one that this version does not know is shown as it is, neutrally. */
export function statusLook(status: string): StatusLook {
  const known = Object.hasOwn(LOOKS, status.toUpperCase()) ? LOOKS[status.toUpperCase()] : undefined;
  return known ?? { word: status || "Unknown", tone: "neutral", mark: "unknown" };
}
