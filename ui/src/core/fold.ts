/**
 * The log of an instance folded to its state, as the server folds it: for any prefix of the log, and
 * in parts (the fold of the first n entries and then of the rest is the fold of all). Nothing is
 * refused here: an entry that is not known is kept in `unknown`.
 */

import { asNumber, asObject, asText, type JsonObject } from "./json";
import { isKnownType, type LogEntry } from "./log";
import type { Plan } from "./plan";
import { blank, copied, FINAL, scheduleOf, type InstanceState } from "./state";
import * as compensations from "./folding/compensations";
import * as loops from "./folding/loops";
import * as nodes from "./folding/nodes";
import { retryRequested } from "./folding/reopening";

export { blank } from "./state";
export type * from "./state";

/** `state` with `entries` taken in, which follow it in the log; the one given stays as it is. */
export function foldAll(plan: Plan, state: InstanceState, entries: Iterable<LogEntry>): InstanceState {
  const after = copied(state);
  for (const entry of entries) foldInto(plan, after, entry);
  return after;
}

/** The state after the entries up to and including `upTo`, which is all of them if left out. */
export function fold(
  plan: Plan,
  id: string,
  entries: readonly LogEntry[],
  upTo = Number.POSITIVE_INFINITY,
): InstanceState {
  const state = blank(id);
  for (const entry of entries) {
    if (entry.seq > upTo) break;
    foldInto(plan, state, entry);
  }
  return state;
}

function foldInto(plan: Plan, state: InstanceState, entry: LogEntry): void {
  state.version += 1;
  state.updatedAt = entry.at;
  const payload = asObject(entry.payload);
  if (!isKnownType(entry.eventType)) {
    state.unknown.push(entry);
    return;
  }
  switch (entry.eventType) {
    case "INPUT_SET":
      inputSet(state, entry, payload);
      break;
    case "SYSTEM_SET":
      systemSet(state, asObject(payload["values"]));
      break;
    case "NODE_DISPATCHED":
      nodes.dispatched(state, entry, payload);
      break;
    case "NODE_COMPLETED":
      nodes.completed(plan, state, entry, payload);
      break;
    case "NODE_FAILED":
      nodes.failed(plan, state, entry, payload);
      break;
    case "NODE_SKIPPED":
      nodes.skipped(plan, state, entry, payload);
      break;
    case "NODE_CANCELLED":
      nodes.cancelled(plan, state, entry);
      break;
    case "NODE_CANCEL_REQUESTED":
      nodes.cancelRequested(plan, state, entry, payload);
      break;
    case "RETRY_SCHEDULED":
      if (compensations.isUnderWay(state, entry)) compensations.retryScheduled(state, entry, payload);
      else nodes.retryScheduled(state, entry, payload);
      break;
    case "MUTEX_REQUESTED":
      nodes.mutexRequested(state, entry);
      break;
    case "MUTEX_GRANTED":
      break;
    case "WAIT_OPENED":
      nodes.waitOpened(state, entry, payload);
      break;
    case "WAIT_RESOLVED":
      nodes.waitResolved(plan, state, entry, payload);
      break;
    case "TIMER_SET":
      // What an SLA tells is in the log and in the explanation: no step changes by it.
      if (payload["kind"] !== "sla") nodes.timerSet(state, entry, payload);
      break;
    case "TIMER_FIRED":
      if (!isOfSla(payload)) nodes.timerFired(state, entry, payload);
      break;
    case "ITERATION_STARTED":
      loops.iterationStarted(plan, state, entry, payload);
      break;
    case "ITERATION_ENDED":
      loops.iterationEnded(state, entry, payload);
      break;
    case "CHILD_STARTED":
      nodes.childStarted(state, entry, payload);
      break;
    case "CHILD_ENDED":
      nodes.childEnded(state, entry, payload);
      break;
    case "PAUSE_REQUESTED":
      state.pause = {
        by: asText(payload["by"]) ?? "",
        at: entry.at,
        reason: asText(payload["reason"]),
        until: asText(payload["until"]),
      };
      break;
    case "RESUME_REQUESTED":
      state.pause = null;
      break;
    case "CANCEL_REQUESTED":
      cancelRequested(state, entry, payload);
      break;
    case "RETRY_REQUESTED":
      retryRequested(plan, state, entry, payload);
      break;
    case "COMPENSATION_PLANNED":
      compensations.planned(state, entry, payload);
      break;
    case "COMPENSATION_DISPATCHED":
      compensations.dispatched(state, entry, payload);
      break;
    case "COMPENSATION_COMPLETED":
      compensations.completed(state, entry, payload);
      break;
    case "COMPENSATION_FAILED":
      compensations.failed(state, entry, payload);
      break;
    case "COMPENSATION_ENDED":
      compensations.ended(state, entry);
      break;
    case "STATUS_CHANGED":
      statusChanged(state, entry, payload);
      break;
    case "MUTEX_REQUESTED":
    case "MUTEX_GRANTED":
      break;
  }
}

/** `timeoutAt` is the end of `options.timeout`, which counts from when the instance had its slot. */
function systemSet(state: InstanceState, values: JsonObject): void {
  state.system = { ...state.system, ...values };
  const due = asText(values["timeoutAt"]);
  if (due !== null && (state.deadline === null || due < state.deadline)) state.deadline = due;
}

function inputSet(state: InstanceState, entry: LogEntry, payload: JsonObject): void {
  const parent = asObject(payload["parent"]);
  state.definitionId = asText(payload["definitionId"]) ?? "";
  state.definitionVersion = asNumber(payload["definitionVersion"]) ?? 0;
  state.rerunOf = asText(payload["rerunOf"]);
  state.input = payload["input"] ?? null;
  state.correlationId = asText(payload["correlationId"]);
  state.priority = asNumber(payload["priority"]) ?? 0;
  state.deadline = asText(payload["deadline"]);
  state.eventId = asText(payload["eventId"]);
  state.schedule = scheduleOf(payload["schedule"]);
  state.createdAt = entry.at;
  if (payload["parent"]) {
    state.parent = {
      id: asText(parent["id"]) ?? "",
      node: asText(parent["node"]) ?? "",
      iteration: asText(parent["iteration"]) ?? "",
      attempt: asNumber(parent["attempt"]) ?? 1,
      rootId: asText(parent["rootId"]) ?? "",
    };
  }
}

function statusChanged(state: InstanceState, entry: LogEntry, payload: JsonObject): void {
  const to = asText(payload["to"]) ?? state.status;
  state.status = to;
  state.statuses.push({ status: to, at: entry.at, seq: entry.seq });
  if (payload["error"]) {
    const error = asObject(payload["error"]);
    state.lastError ??= {
      code: asText(error["code"]) ?? "UNKNOWN",
      message: asText(error["message"]) ?? "",
      stepId: asText(error["stepId"]),
      iteration: asText(error["iteration"]) ?? "",
      attempt: asNumber(error["attempt"]) ?? 1,
      at: asText(error["at"]) ?? entry.at,
      ...(error["details"] == null ? {} : { details: error["details"] }),
    };
  }
  if (to === "RUNNING") state.startedAt ??= entry.at;
  if (FINAL.has(to)) state.completedAt = entry.at;
}

function cancelRequested(state: InstanceState, entry: LogEntry, payload: JsonObject): void {
  const eventId = asText(payload["eventId"]);
  state.cancellation = {
    reason: asText(payload["reason"]),
    requestedBy: asText(payload["by"]) ?? "",
    requestedAt: entry.at,
    source: asText(payload["source"]) ?? "",
    shouldCompensate: payload["shouldCompensate"] === true,
    ...(eventId === null ? {} : { eventId }),
  };
  state.ending = { because: "cancelled", status: "CANCELLED", output: null };
  state.pause = null;
}

function isOfSla(payload: JsonObject): boolean {
  return asText(payload["kind"])?.startsWith("sla-") === true;
}
