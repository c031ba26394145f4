/** What each entry of a step does to the state: the step, its edges and its variables. */

import { asNumber, asObject, asText, texts, asArray, type Json, type JsonObject } from "../json";
import { failureOf, keyOf, type LogEntry } from "../log";
import type { Plan } from "../plan";
import type { Activation, InstanceState, Variable } from "../state";
import {
  begun,
  beginning,
  endAttempt,
  endSpans,
  fresh,
  isInFlight,
  kept,
  lastAttempt,
  openSpan,
  ordered,
  placed,
  put,
  timed,
} from "./activations";
import { arrive } from "./edges";
import { closeLoop, completeLoops, errorsOf, itemAdded, itemFailed, itemSkipped, iterationOf, peopleOf } from "./loops";

export function dispatched(state: InstanceState, entry: LogEntry, payload: JsonObject): void {
  const before = begun(entry, state);
  const given = "input" in payload ? (payload["input"] as Json) : undefined;
  const attempt = entry.attempt ?? 1;
  if (!before) {
    const node = beginning(entry, state);
    const input = given === undefined ? node.input : given;
    put(state, {
      ...node,
      attempt,
      input,
      attempts: ordered(node.attempts, entry, input),
      spans: endSpans(node.spans, entry.at),
    });
    return;
  }
  put(state, {
    ...before,
    status: "RUNNING",
    attempt,
    dispatchedAt: entry.at,
    childId: null,
    executionTime: null,
    queueTime: null,
    worker: null,
    dueAt: null,
    attempts: ordered(before.attempts, entry, before.input),
    spans: endSpans(before.spans, entry.at),
  });
}

export function completed(plan: Plan, state: InstanceState, entry: LogEntry, payload: JsonObject): void {
  const known = begun(entry, state);
  const before = known ?? beginning(entry, state);
  const planned = plan.nodes.get(before.step);
  const succeeded = entry.nodeStatus !== "error";
  const output = payload["output"] ?? null;
  const handles = "handles" in payload ? texts(payload["handles"]) : ["default"];
  const reusedFrom = asText(payload["reusedFrom"]);
  let node: Activation = {
    ...before,
    status: succeeded ? "COMPLETED" : "FAILED",
    attempt: entry.attempt ?? 1,
    losses: 0,
    completedAt: entry.at,
    dueAt: null,
    input: undefined,
    output,
    written: state.version,
    handles,
    heldBack: before.isWithdrawn ? handles : [],
    reusedFrom,
    spans: endSpans(before.spans, entry.at),
    worker: asText(payload["worker"]) ?? before.worker,
  };
  const executionTime = asNumber(payload["executionTime"]);
  if (node.isLoop) node.errors = errorsOf(state, node.key);
  else if (reusedFrom !== null) node = asItWas(node, entry, payload);
  else if (executionTime !== null) node = { ...node, ...timed(node, executionTime, entry.at) };
  const times = { executionTime: node.executionTime, queueTime: node.queueTime, worker: node.worker };
  node.attempts = endAttempt(
    before.attempts,
    entry,
    succeeded ? { outcome: "completed", output, ...times } : { ...times },
  );
  put(state, node);
  // A step that was being cancelled finished all the same: its edges are dead since then.
  if (before.graceUntil === null) arrive(plan, state, node.step, node.iteration, handles);
  writeVariables(plan, state, entry, payload, output);
  if (node.isLoop) closeLoop(plan, state, node.key, false);
  if (succeeded && before.graceUntil === null) {
    completeLoops(plan, state, node.step, node.iteration);
  }
  if (planned?.node.type === "end") state.output = merged(state.output, output);
  else if (planned?.node.type === "terminate" && succeeded && state.ending === null) {
    terminate(state, entry, planned.node.config, output);
  }
}

/** A step that was taken over, with what had gone wrong in it. */
function asItWas(node: Activation, entry: LogEntry, payload: JsonObject): Activation {
  const error = payload["error"] ? placed(entry, failureOf(payload)) : null;
  if (!("errors" in payload)) return { ...node, error };
  return { ...node, error, isLoop: true, errors: asArray(payload["errors"]) };
}

function terminate(state: InstanceState, entry: LogEntry, config: JsonObject, output: Json): void {
  if ((config["status"] ?? "COMPLETED") === "COMPLETED") {
    state.ending = { because: "terminated", status: "COMPLETED", output };
    return;
  }
  const message = asText(asObject(output)["reason"]) ?? "terminated";
  state.lastError ??= placed(entry, { code: "TERMINATED", message, details: null });
  state.ending = { because: "terminated", status: "FAILED", output: null };
}

function merged(before: Json | undefined, output: Json): Json {
  const both = [before, output].every((each) => typeof each === "object" && each !== null && !Array.isArray(each));
  return both ? { ...(before as JsonObject), ...(output as JsonObject) } : output;
}

function writeVariables(plan: Plan, state: InstanceState, entry: LogEntry, payload: JsonObject, output: Json): void {
  const mapped = asObject(payload["variables"]);
  const written = Object.entries(mapped);
  if (entry.outputVariable !== null && !Object.hasOwn(mapped, entry.outputVariable)) {
    written.unshift([entry.outputVariable, output]);
  }
  if (written.length === 0) return;
  const step = entry.nodeId ?? "";
  const iteration = iterationOf(plan, state, step, entry.iteration);
  const variables = iteration ? new Map(iteration.variables) : state.variables;
  for (const [name, value] of written) {
    const before = variables.get(name);
    const variable: Variable = {
      value,
      step,
      iteration: entry.iteration,
      attempt: entry.attempt ?? 1,
      seq: entry.seq,
      before: before ? [...before.before, before.seq] : [],
    };
    variables.set(name, variable);
  }
  if (iteration) state.iterations.set(iteration.key, { ...iteration, variables });
}

export function failed(plan: Plan, state: InstanceState, entry: LogEntry, payload: JsonObject): void {
  const before = begun(entry, state) ?? beginning(entry, state);
  const failure = failureOf(payload);
  const counts = payload["counts"] !== false;
  const wasLost = !counts && failure.code !== "STOPPED";
  const then = asText(payload["then"]);
  const error = placed(entry, failure);
  let node: Activation = {
    ...before,
    attempt: entry.attempt ?? 1,
    failures: before.failures + (counts ? 1 : 0),
    losses: counts ? 0 : before.losses + (wasLost ? 1 : 0),
    error,
    worker: asText(payload["worker"]),
  };
  const executionTime = asNumber(payload["executionTime"]);
  if (executionTime !== null) node = { ...node, ...timed(node, executionTime, entry.at) };
  // A failure that a handle takes is not undone, whatever was done.
  if (failure.wasDone && then !== "route") {
    node = { ...node, wasDone: true, output: payload["output"] ?? null, written: state.version };
  }
  node.attempts = endAttempt(before.attempts, entry, {
    outcome: counts ? "failed" : wasLost ? "lost" : "stopped",
    error,
    retryable: failure.retryable,
    executionTime: node.executionTime,
    queueTime: node.queueTime,
    worker: node.worker,
  });
  if (then !== "fail" && then !== "iteration") {
    // Another entry follows that says what becomes of the step.
    put(state, node);
    return;
  }
  node = {
    ...node,
    status: "FAILED",
    completedAt: entry.at,
    dueAt: null,
    spans: endSpans(node.spans, entry.at),
  };
  put(state, node);
  if (then === "iteration") itemFailed(plan, state, entry);
  else {
    state.lastError ??= error;
    state.ending ??= { because: "failed", status: "FAILED", output: null };
  }
  if (node.isLoop) closeLoop(plan, state, node.key, then === "fail");
}

export function skipped(plan: Plan, state: InstanceState, entry: LogEntry, payload: JsonObject): void {
  const reason = asText(payload["reason"]);
  if (reason === "enough") {
    itemSkipped(state, entry);
    return;
  }
  const node = fresh(entry, state);
  const before = state.activations.get(node.key);
  const handles = texts(payload["handles"]);
  const taken = handles.length > 0 ? handles : reason === "when" ? ["default"] : [];
  put(state, {
    ...node,
    ...(before ? kept(before) : {}),
    status: "SKIPPED",
    completedAt: entry.at,
    skippedBecause: reason,
    handles: taken,
    reusedFrom: asText(payload["reusedFrom"]),
  });
  arrive(plan, state, node.step, node.iteration, taken);
}

export function cancelled(plan: Plan, state: InstanceState, entry: LogEntry): void {
  const before = state.activations.get(keyOf(entry.nodeId ?? "", entry.iteration)) ?? fresh(entry, state);
  // While paused nothing is withdrawn yet, but what was lost is not started again either.
  const isWithdrawn =
    before.isWithdrawn ||
    (before.graceUntil === null && state.ending !== null && (state.pause === null || isInFlight(before)));
  const node: Activation = {
    ...before,
    status: "CANCELLED",
    completedAt: entry.at,
    dueAt: null,
    input: isWithdrawn ? before.input : undefined,
    isWithdrawn,
    attempts: endAttempt(before.attempts, entry, { outcome: "cancelled" }),
    spans: endSpans(before.spans, entry.at),
  };
  put(state, node);
  if (before.graceUntil === null && !isWithdrawn) arrive(plan, state, node.step, node.iteration, []);
  if (node.isLoop) closeLoop(plan, state, node.key, isWithdrawn);
}

export function cancelRequested(plan: Plan, state: InstanceState, entry: LogEntry, payload: JsonObject): void {
  const node = begun(entry, state);
  if (!node) return;
  const isWithdrawn = state.ending !== null && state.pause === null;
  put(state, { ...node, graceUntil: asText(payload["graceUntil"]), isWithdrawn });
  if (!isWithdrawn) arrive(plan, state, node.step, node.iteration, []);
}

export function retryScheduled(state: InstanceState, entry: LogEntry, payload: JsonObject): void {
  const node = begun(entry, state);
  if (!node) return;
  const due = asText(payload["due"]);
  put(state, {
    ...node,
    status: "RETRYING",
    dueAt: due,
    attempts: lastAttempt(node.attempts, { nextAt: due }),
    spans: openSpan(node.spans, {
      kind: "back-off",
      attempt: entry.attempt ?? node.attempt + 1,
      from: entry.at,
      dueAt: due,
      seq: entry.seq,
    }),
  });
}

export function mutexRequested(state: InstanceState, entry: LogEntry): void {
  const before = state.activations.get(keyOf(entry.nodeId ?? "", entry.iteration));
  put(state, { ...fresh(entry, state), status: "WAITING", startedAt: entry.at, ...(before ? kept(before) : {}) });
}

export function waitOpened(state: InstanceState, entry: LogEntry, payload: JsonObject): void {
  const before = state.activations.get(keyOf(entry.nodeId ?? "", entry.iteration));
  const asking = payload["approval"] ? asObject(payload["approval"]) : null;
  const timeoutAt = asText(payload["timeoutAt"]);
  const failAt = asText(payload["failAt"]);
  const ends = [timeoutAt, failAt].filter((each) => each !== null).sort();
  const node = { ...fresh(entry, state), status: "WAITING", startedAt: entry.at, isWait: true };
  put(state, {
    ...node,
    ...(before ? kept(before) : {}),
    wait: {
      pattern: asText(payload["pattern"]) ?? "",
      arms: asArray(payload["arms"]).map((arm) => ({
        id: String(asObject(arm)["id"] ?? ""),
        pattern: String(asObject(arm)["pattern"] ?? ""),
      })),
      since: asText(payload["since"]),
      correlationId: asText(payload["correlationId"]),
      timeoutAt,
      failAt,
      eventIds: before?.status === "PENDING" ? (before.wait?.eventIds ?? []) : [],
      remaining: null,
    },
    approval: asking && {
      ...peopleOf(asking["assignees"]),
      reminded: 0,
      escalatedAt: null,
      escalateTo: asking["escalateTo"] ? peopleOf(asking["escalateTo"]) : null,
    },
    spans: openSpan(before?.spans ?? [], {
      kind: asking ? "approval" : "event",
      attempt: node.attempt,
      from: entry.at,
      dueAt: ends[0] ?? null,
      seq: entry.seq,
    }),
  });
}

export function waitResolved(plan: Plan, state: InstanceState, entry: LogEntry, payload: JsonObject): void {
  const eventId = asText(payload["eventId"]);
  const node = state.activations.get(keyOf(entry.nodeId ?? "", entry.iteration));
  if (!node) return;
  if (eventId !== null && plan.nodes.get(node.step)?.hears) {
    itemAdded(state, node.key, payload["event"] ?? null);
    return;
  }
  if (!node.wait) return;
  const remaining = asNumber(payload["remaining"]) ?? 0;
  const eventIds = eventId === null ? node.wait.eventIds : [...node.wait.eventIds, eventId];
  put(state, { ...node, wait: { ...node.wait, eventIds, remaining } });
}

export function timerSet(state: InstanceState, entry: LogEntry, payload: JsonObject): void {
  const due = asText(payload["due"]);
  const before = state.activations.get(keyOf(entry.nodeId ?? "", entry.iteration));
  const held = payload["held"] ? asObject(payload["held"]) : null;
  const span = { attempt: entry.attempt ?? 1, from: entry.at, dueAt: due, seq: entry.seq };
  if (held && before) {
    const took = asNumber(held["executionTime"]);
    const node: Activation = {
      ...before,
      status: "WAITING",
      dueAt: due,
      worker: asText(held["worker"]),
      spans: openSpan(before.spans, { kind: "held", ...span }),
      ...(took === null ? {} : timed(before, took, entry.at)),
    };
    node.attempts = lastAttempt(before.attempts, {
      outcome: "held",
      endedAt: entry.at,
      output: held["output"] ?? null,
      executionTime: node.executionTime,
      queueTime: node.queueTime,
      worker: node.worker,
    });
    put(state, node);
    return;
  }
  put(state, {
    ...fresh(entry, state),
    ...(before ? kept(before) : {}),
    status: "WAITING",
    startedAt: entry.at,
    dueAt: due,
    spans: openSpan(before?.spans ?? [], { kind: "delay", ...span }),
  });
}

/** A reminder or an escalation; what the end of a delay does follows in another entry. */
export function timerFired(state: InstanceState, entry: LogEntry, payload: JsonObject): void {
  const kind = asText(payload["kind"]) ?? "delay";
  const node = state.activations.get(keyOf(entry.nodeId ?? "", entry.iteration));
  const asked = node?.approval;
  if (kind === "delay" || !node || !asked) return;
  if (kind === "reminder") {
    const reminded = asNumber(payload["number"]) ?? 0;
    put(state, { ...node, approval: { ...asked, reminded } });
    return;
  }
  const added = peopleOf(payload["assignees"]);
  put(state, {
    ...node,
    approval: {
      ...asked,
      users: [...new Set([...asked.users, ...added.users])],
      roles: [...new Set([...asked.roles, ...added.roles])],
      escalateTo: null,
      escalatedAt: entry.at,
    },
  });
}

export function childStarted(state: InstanceState, entry: LogEntry, payload: JsonObject): void {
  const node = begun(entry, state);
  const childId = asText(payload["childId"]);
  if (!node || childId === null) return;
  put(state, {
    ...node,
    childId,
    childVersion: asNumber(payload["version"]),
    childStatus: null,
    children: [...node.children, childId],
    attempts: lastAttempt(node.attempts, { childId }),
  });
}

export function childEnded(state: InstanceState, entry: LogEntry, payload: JsonObject): void {
  const node = begun(entry, state);
  if (node) put(state, { ...node, childStatus: asText(payload["status"]) });
}
