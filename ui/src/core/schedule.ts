/** Schedules as a form holds them ↔ as documents; and what became of their ticks, in words and colours. */

import { asNumber, asObject, asText, type Json, type JsonObject } from "./json";

export interface ScheduleDraft {
  id: string;
  name: string;
  description: string;
  type: "recurring" | "one-time";
  cron: string;
  /** As the browser's own control for moments writes it, in the zone of the viewer. */
  executeAt: string;
  timezone: string;
  startDate: string;
  endDate: string;
  target: "workflow" | "task" | "callback";
  /** The id of the workflow or task, or the address. */
  targetId: string;
  /** Of a workflow; empty: the newest at each tick. */
  version: string;
  /** JSON; empty: none. */
  input: string;
  overlap: string;
  catchUp: string;
  span: string;
  jitter: string;
  calendar: string;
  onNonWorking: string;
  missing: string;
  repeated: string;
  /** What the form has no control for, and what is kept. */
  kept: {
    retryPolicy?: Json;
    /** The workflow function that owns the schedule. */
    definition?: string;
    /** The saved moment, and how the control shows it: one that was not changed stays exact. */
    executeAt?: { moment: string; shown: string };
  };
}

export const OVERLAPS = [
  ["skip", "Skip the tick"],
  ["queue", "Queue: start it when the other has ended"],
  ["allow", "Allow: run both"],
  ["cancel-running", "Cancel the one that runs"],
] as const;
export const CATCH_UPS = [
  ["one", "Start the last one"],
  ["all", "Start all of them"],
  ["none", "Start none"],
] as const;
export const NON_WORKING = [
  ["skip", "Skip the tick"],
  ["next", "Move it to the next working moment"],
  ["previous", "Move it to the last working moment before"],
] as const;
export const PRESETS = [
  ["*/5 * * * *", "Every 5 minutes"],
  ["0 * * * *", "Every hour"],
  ["0 9 * * *", "Every day at 09:00"],
  ["0 9 * * MON-FRI", "Monday to Friday at 09:00"],
  ["0 6 * * MON", "Every Monday at 06:00"],
  ["0 0 1 * *", "First day of the month"],
  ["0 18 L * *", "Last day of the month at 18:00"],
] as const;

export function newDraft(timezone: string, workflow = ""): ScheduleDraft {
  return {
    id: "",
    name: "",
    description: "",
    type: "recurring",
    cron: "0 9 * * *",
    executeAt: "",
    timezone,
    startDate: "",
    endDate: "",
    target: "workflow",
    targetId: workflow,
    version: "",
    input: "",
    overlap: "skip",
    catchUp: "one",
    span: "",
    jitter: "",
    calendar: "",
    onNonWorking: "skip",
    missing: "next",
    repeated: "first",
    kept: {},
  };
}

/** A saved schedule in the form. */
export function draftOf(saved: unknown, toLocal: (moment: string) => string): ScheduleDraft {
  const given = asObject(saved);
  const text = (name: string) => asText(given[name]) ?? "";
  const target = asObject(given["target"]);
  const catchUp = asObject(given["catchUp"]);
  const dst = asObject(given["dst"]);
  const kind = "taskId" in target ? "task" : "callbackUrl" in target ? "callback" : "workflow";
  const retry = target["retryPolicy"];
  const definition = asText(asObject(given["metadata"])["definition"]);
  const moment = text("executeAt");
  const shown = moment === "" ? "" : toLocal(moment);
  return {
    ...newDraft(text("timezone") || "UTC"),
    id: text("id"),
    name: text("name"),
    description: asText(asObject(given["metadata"])["description"]) ?? "",
    type: given["type"] === "one-time" ? "one-time" : "recurring",
    cron: text("cron"),
    executeAt: shown,
    startDate: text("startDate"),
    endDate: text("endDate"),
    target: kind,
    targetId: asText(target["taskId"] ?? target["callbackUrl"] ?? target["workflowId"]) ?? "",
    version: String(asNumber(target["version"]) ?? ""),
    input: given["input"] === undefined ? "" : JSON.stringify(given["input"], null, 2),
    overlap: text("overlap") || "skip",
    catchUp: asText(catchUp["mode"]) ?? "one",
    span: asText(catchUp["window"]) ?? "",
    jitter: text("jitter"),
    calendar: text("calendar"),
    onNonWorking: text("onNonWorking") || "skip",
    missing: asText(dst["missing"]) ?? "next",
    repeated: asText(dst["repeated"]) ?? "first",
    kept: {
      ...(retry === undefined ? {} : { retryPolicy: retry as Json }),
      ...(definition == null ? {} : { definition }),
      ...(moment === "" ? {} : { executeAt: { moment, shown } }),
    },
  };
}

/** The document of a form; what is empty is left out, and what is wrong is left to the service. */
export function documentOf(draft: ScheduleDraft, fromLocal: (text: string) => string): { document: JsonObject; inputProblem: string | null } {
  const document: JsonObject = { type: draft.type, target: targetOf(draft), overlap: draft.overlap };
  const add = (name: string, value: string) => {
    if (value.trim() !== "") document[name] = value.trim();
  };
  add("id", draft.id);
  add("name", draft.name);
  if (draft.type === "recurring") {
    add("cron", draft.cron);
    add("timezone", draft.timezone);
    add("startDate", draft.startDate);
    add("endDate", draft.endDate);
    if (draft.missing !== "next" || draft.repeated !== "first") document["dst"] = { missing: draft.missing, repeated: draft.repeated };
  } else if (draft.executeAt !== "") {
    const { executeAt } = draft.kept;
    document["executeAt"] = draft.executeAt === executeAt?.shown ? executeAt.moment : fromLocal(draft.executeAt);
  }
  document["catchUp"] = { mode: draft.catchUp, ...(draft.span.trim() === "" ? {} : { window: draft.span.trim() }) };
  add("jitter", draft.jitter);
  add("calendar", draft.calendar);
  if (draft.calendar.trim() !== "") document["onNonWorking"] = draft.onNonWorking;
  const metadata: JsonObject = {};
  if (draft.description.trim() !== "") metadata["description"] = draft.description.trim();
  if (draft.kept.definition !== undefined) metadata["definition"] = draft.kept.definition;
  if (Object.keys(metadata).length > 0) document["metadata"] = metadata;
  if (draft.input.trim() === "") return { document, inputProblem: null };
  try {
    document["input"] = JSON.parse(draft.input) as Json;
    return { document, inputProblem: null };
  } catch (error) {
    return { document, inputProblem: `This is no JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function targetOf({ target, targetId, version, kept }: ScheduleDraft): JsonObject {
  const id = targetId.trim();
  if (target === "task") return { taskId: id };
  if (target === "callback") return { callbackUrl: id, ...(kept.retryPolicy === undefined ? {} : { retryPolicy: kept.retryPolicy }) };
  return { workflowId: id, ...(/^\d+$/.test(version.trim()) ? { version: Number(version) } : {}) };
}

export interface PlacedProblem {
  code: string;
  path: string;
  message: string;
  advice?: string | null;
}

/** The field of the form that a path of the document belongs to; "" for what belongs to none. */
export function fieldOf(path: string): keyof ScheduleDraft | "" {
  if (path.startsWith("$.target.version")) return "version";
  if (path.startsWith("$.target")) return "targetId";
  if (path.startsWith("$.catchUp.window")) return "span";
  if (path.startsWith("$.metadata")) return "description";
  const name = /^\$\.(\w+)/.exec(path)?.[1] ?? "";
  return FIELDS.has(name) ? (name as keyof ScheduleDraft) : "";
}
const FIELDS: ReadonlySet<string> = new Set(["id", "name", "cron", "executeAt", "timezone", "startDate", "endDate", "input", "overlap", "catchUp", "jitter", "calendar", "onNonWorking"]);

/** A problem as one line: its code, what is wrong, and what to do. */
export const problemText = ({ code, message, advice }: PlacedProblem): string => [`${code}:`, sentence(message), advice == null ? "" : sentence(advice)].filter(Boolean).join(" ");
/** With a full stop at its end. */
export const sentence = (text: string): string => (/[.!?]$/.test(text.trim()) ? text.trim() : `${text.trim()}.`);

const UNITS = ["week", "day", "hour", "minute", "second"] as const;

/** "PT5M" is "5 minutes"; what is no such duration is as it was written. */
export function spanWords(span: string): string {
  const found = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?$/.exec(span);
  const words = found?.slice(1).flatMap((value, place) => (value === undefined ? [] : [`${value} ${UNITS[place]}${value === "1" ? "" : "s"}`])) ?? [];
  return words.join(" ").replace(/^1 day$/, "day") || span;
}

const NAMED = /^\w{3} (\d+ \w{3}) \d{4} is a (?:holiday|day off)/;
const MOST_NAMED = 3;

/** "skips 3 Oct, 25 Dec": the holidays and days off among times to come; null: there are none. */
export function skipWords(items: readonly { skipped?: string | null }[]): string | null {
  const days = [...new Set(items.flatMap(({ skipped }) => NAMED.exec(skipped ?? "")?.[1] ?? []))];
  if (days.length === 0) return null;
  return `skips ${days.slice(0, MOST_NAMED).join(", ")}${days.length > MOST_NAMED ? " and others" : ""}`;
}

// -- ticks

export interface Tick {
  nominal: string;
  at: string;
  outcome: string;
  cause?: string;
  instanceId?: string | null;
  reason?: string | null;
  count?: number;
  last?: string | null;
}

/** How a tick looks: by what became of it, or by the status of the instance that it started. */
export const tickStatus = (tick: Pick<Tick, "outcome">, instanceStatus?: string): string => (tick.outcome === "started" ? (instanceStatus ?? "STARTED") : tick.outcome.toUpperCase());

/** What became of a tick: "started by hand", "skipped 3 times: another instance ran". */
export function tickWords(tick: Tick): string {
  const reason = tick.reason ?? "";
  const how = tickReason({ ...tick, reason: null });
  return `${tick.outcome}${how === "–" ? "" : ` ${how}`}${reason === "" ? "" : `: ${reason}`}`;
}

/** Why, and how often, beside the outcome; "–": at its time, as it should. */
export function tickReason(tick: Tick): string {
  const many = (tick.count ?? 1) > 1 ? `${tick.count} times` : "";
  const by = tick.cause === "trigger" ? "by hand" : tick.cause === "backfill" ? "by a backfill" : "";
  return [many, by, tick.reason ?? ""].filter(Boolean).join(", ") || "–";
}

/** How many of the newest instances failed without one between them that did not; those under way do not count. */
export function failedInARow(ticks: readonly Tick[], statuses: ReadonlyMap<string, string>): number {
  let failed = 0;
  for (const { instanceId } of ticks) {
    const status = instanceId == null ? undefined : statuses.get(instanceId);
    if (status === "FAILED") failed += 1;
    else if (status === "COMPLETED" || status === "CANCELLED") break;
  }
  return failed;
}

/** "12 started, 1 refused": what a strip of marks says as text. */
export function tickSummary(ticks: readonly Tick[]): string {
  const counts = new Map<string, number>();
  for (const { outcome, count = 1 } of ticks) counts.set(outcome, (counts.get(outcome) ?? 0) + count);
  return [...counts].map(([outcome, count]) => `${count} ${outcome}`).join(", ");
}
