/** What each entry of a compensation does to the state: the plan, and the item under way. */

import { asArray, asObject, asText, type Json, type JsonObject } from "../json";
import { failureOf, keyOf, type LogEntry } from "../log";
import type { Compensation, CompensationItem, InstanceState } from "../state";
import { endAttempt, endSpans, lastAttempt, openSpan, ordered, placed } from "./activations";

export function planned(state: InstanceState, entry: LogEntry, payload: JsonObject): void {
  if (state.compensation) {
    // A parent asks to try those again that were given up.
    state.compensation = { ...state.compensation, completedAt: null };
    return;
  }
  state.compensation = {
    items: asArray(payload["plan"]).map((each) => {
      const item = asObject(each);
      const stepId = String(item["stepId"] ?? "");
      const iteration = asText(item["iteration"]) ?? "";
      return {
        key: keyOf(stepId, iteration),
        stepId,
        compensationFor: String(item["compensationFor"] ?? ""),
        iteration,
        status: "PENDING",
        attempts: [],
        spans: [],
        error: null,
        dueAt: null,
      };
    }),
    skipped: asArray(payload["skipped"]).map((each) => {
      const item = asObject(each);
      return {
        stepId: String(item["stepId"] ?? ""),
        reason: String(item["reason"] ?? ""),
        iteration: asText(item["iteration"]) ?? "",
      };
    }),
    startedAt: entry.at,
    completedAt: null,
    position: 0,
    current: null,
    failed: new Map(),
  };
}

export function dispatched(state: InstanceState, entry: LogEntry, payload: JsonObject): void {
  const found = itemOf(state, entry);
  if (!found) return;
  const [undoing, index, item] = found;
  const failed = new Map(undoing.failed);
  failed.delete(index);
  const input = "input" in payload ? (payload["input"] as Json) : undefined;
  state.compensation = {
    ...withItem(undoing, index, {
      ...item,
      status: "RUNNING",
      dueAt: null,
      attempts: ordered(item.attempts, entry, input),
      spans: endSpans(item.spans, entry.at),
    }),
    current: index,
    completedAt: null,
    failed,
  };
}

export function completed(state: InstanceState, entry: LogEntry, payload: JsonObject): void {
  const found = itemOf(state, entry);
  if (!found) return;
  const [undoing, index, item] = found;
  const output = payload["output"] ?? null;
  state.compensation = concluded(undoing, index, {
    ...item,
    status: "COMPLETED",
    dueAt: null,
    attempts: endAttempt(item.attempts, entry, { outcome: "completed", output }),
    spans: endSpans(item.spans, entry.at),
  });
}

export function failed(state: InstanceState, entry: LogEntry, payload: JsonObject): void {
  const found = itemOf(state, entry);
  if (!found) return;
  const [undoing, index, item] = found;
  const failure = failureOf(payload);
  const error = placed(entry, failure);
  const counts = payload["counts"] !== false;
  const attempts = endAttempt(item.attempts, entry, {
    outcome: counts ? "failed" : failure.code === "STOPPED" ? "stopped" : "lost",
    error,
    retryable: failure.retryable,
  });
  if (payload["then"] !== "fail") {
    state.compensation = withItem(undoing, index, { ...item, attempts, error });
    return;
  }
  const given: CompensationItem = {
    ...item,
    status: "FAILED",
    dueAt: null,
    attempts,
    error,
    spans: endSpans(item.spans, entry.at),
  };
  const after = concluded(undoing, index, given);
  state.compensation = { ...after, failed: new Map(undoing.failed).set(index, error) };
}

/** Whether a retry that was scheduled is that of a compensation. */
export function isUnderWay(state: InstanceState, entry: LogEntry): boolean {
  const undoing = state.compensation;
  const item = undoing?.current == null ? undefined : undoing.items[undoing.current];
  const isChild = item?.stepId === item?.compensationFor;
  return item !== undefined && !isChild && item.key === keyOf(entry.nodeId ?? "", entry.iteration);
}

export function retryScheduled(state: InstanceState, entry: LogEntry, payload: JsonObject): void {
  const found = itemOf(state, entry);
  if (!found) return;
  const [undoing, index, item] = found;
  const due = asText(payload["due"]);
  state.compensation = withItem(undoing, index, {
    ...item,
    status: "RETRYING",
    dueAt: due,
    attempts: lastAttempt(item.attempts, { nextAt: due }),
    spans: openSpan(item.spans, {
      kind: "back-off",
      attempt: entry.attempt ?? 1,
      from: entry.at,
      dueAt: due,
      seq: entry.seq,
    }),
  });
}

export function ended(state: InstanceState, entry: LogEntry): void {
  if (!state.compensation) return;
  const { items, current } = state.compensation;
  state.compensation = {
    ...state.compensation,
    // One that was broken off is not tried again.
    items: items.map((item, index) =>
      index === current ? { ...item, spans: endSpans(item.spans, entry.at), dueAt: null } : item,
    ),
    current: null,
    completedAt: entry.at,
  };
}

/** The item that an entry is about: the one under way, the next, or one that failed. */
function itemOf(state: InstanceState, entry: LogEntry): [Compensation, number, CompensationItem] | null {
  const undoing = state.compensation;
  if (!undoing) return null;
  const key = keyOf(entry.nodeId ?? "", entry.iteration);
  for (const index of [undoing.current, undoing.position, ...undoing.failed.keys()]) {
    const item = index === null ? undefined : undoing.items[index];
    if (index !== null && item?.key === key) return [undoing, index, item];
  }
  return null;
}

function withItem(undoing: Compensation, index: number, item: CompensationItem): Compensation {
  return { ...undoing, items: undoing.items.with(index, item) };
}

function concluded(undoing: Compensation, index: number, item: CompensationItem): Compensation {
  const position = Math.max(undoing.position, index + 1);
  return { ...withItem(undoing, index, item), current: null, position };
}
