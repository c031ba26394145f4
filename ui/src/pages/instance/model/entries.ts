/** Entries of the log in words, and which of them a filter shows. */

import { asObject, asText, asNumber, asArray, texts } from "../../../core/json";
import { isKnownType, type LogEntry } from "../../../core/log";

export interface EntryFilter {
  step: string | null;
  /** A group of types, or one type. */
  types: string;
  text: string;
}

export const GROUPS: Record<string, { label: string; has: (type: string) => boolean }> = {
  "": { label: "All entries", has: () => true },
  problems: { label: "Failures and retries", has: (type) => /FAILED|RETRY|CANCEL/.test(type) },
  steps: { label: "Steps", has: (type) => type.startsWith("NODE_") },
  waits: { label: "Waits and timers", has: (type) => /^(WAIT|TIMER)_/.test(type) },
  loops: { label: "Iterations and children", has: (type) => /^(ITERATION|CHILD)_/.test(type) },
  compensation: { label: "Compensation", has: (type) => type.startsWith("COMPENSATION_") },
  instance: { label: "The instance itself", has: (type) => /^(INPUT|SYSTEM)_SET$|^STATUS_|^(PAUSE|RESUME|CANCEL|RETRY)_REQUESTED$/.test(type) },
};

export function shows(filter: EntryFilter, entry: LogEntry): boolean {
  if (filter.step !== null && entry.nodeId !== filter.step) return false;
  const group = Object.hasOwn(GROUPS, filter.types) ? GROUPS[filter.types] : undefined;
  if (group !== undefined ? !group.has(entry.eventType) : entry.eventType !== filter.types) return false;
  if (filter.text === "") return true;
  const wanted = filter.text.toLowerCase();
  return `${entry.eventType} ${entry.nodeId ?? ""} ${entry.iteration} ${entry.errorMessage ?? ""} ${said(entry)}`.toLowerCase().includes(wanted);
}

/** What an entry says, in a few words; what is not known says nothing here, and all of it in its JSON. */
export function said(entry: LogEntry): string {
  const payload = asObject(entry.payload);
  const text = (name: string) => asText(payload[name]);
  const error = asObject(payload["error"]);
  switch (isKnownType(entry.eventType) ? entry.eventType : "") {
    case "INPUT_SET":
      return `${text("definitionId") ?? ""} v${asNumber(payload["definitionVersion"]) ?? "?"}`;
    case "NODE_FAILED":
    case "COMPENSATION_FAILED":
      return [asText(error["code"]), asText(error["message"]) ?? entry.errorMessage].filter(Boolean).join(": ");
    case "NODE_COMPLETED": {
      const handles = texts(payload["handles"]).filter((handle) => handle !== "default");
      const wrote = entry.outputVariable === null ? "" : `wrote ${entry.outputVariable}`;
      return [handles.length > 0 ? `went ${handles.join(", ")}` : "", wrote].filter(Boolean).join(" · ");
    }
    case "NODE_SKIPPED":
      return text("reason") ?? "";
    case "RETRY_SCHEDULED":
      return `due ${text("due") ?? ""}`;
    case "TIMER_SET":
      return `until ${text("due") ?? ""}`;
    case "WAIT_OPENED":
      return text("pattern") || asArray(payload["arms"]).map((arm) => asText(asObject(arm)["pattern"]) ?? "").filter(Boolean).join(", ");
    case "WAIT_RESOLVED":
      return [text("outcome"), text("eventId")].filter(Boolean).join(" · ");
    case "CHILD_STARTED":
    case "CHILD_ENDED":
      return [text("childId"), text("status")].filter(Boolean).join(" · ");
    case "STATUS_CHANGED":
      return [text("from"), text("to")].filter(Boolean).join(" → ");
    case "PAUSE_REQUESTED":
    case "RESUME_REQUESTED":
    case "CANCEL_REQUESTED":
    case "RETRY_REQUESTED":
      return [text("by") && `by ${text("by")}`, text("reason")].filter(Boolean).join(": ");
    case "COMPENSATION_PLANNED":
      return `${asArray(payload["plan"]).length} to undo`;
    default:
      return entry.errorMessage ?? "";
  }
}

/** Seconds and milliseconds since the entry before: "+1.2 s". */
export const sinceBefore = (entry: LogEntry, before: LogEntry | undefined): number | null =>
  before === undefined ? null : Date.parse(entry.at) - Date.parse(before.at);
