/** What a retry by hand does to the state: what failed, and what the failure withdrew, may begin. */

import { asObject, asText, type JsonObject } from "../json";
import { keyOf, type LogEntry } from "../log";
import type { Plan } from "../plan";
import { OPEN, type Activation, type InstanceState } from "../state";
import { endAttempt, endSpans, fresh, kept, openSpan, put } from "./activations";
import { arrive } from "./edges";
import { completeLoops } from "./loops";

export function retryRequested(plan: Plan, state: InstanceState, entry: LogEntry, payload: JsonObject): void {
  state.ending = null;
  state.lastError = null;
  state.completedAt = null;
  state.pause = null;
  // Nothing of it was tried, or there would be no retry.
  state.compensation = null;
  const heldBack = [...state.activations.values()]
    .filter((node) => node.isWithdrawn && node.written > 0 && !node.wasDone && !isPast(plan, state, node))
    .sort((a, b) => a.written - b.written);
  const reopened = [...state.activations.values()].filter((node) => isReopened(plan, state, node));
  for (const node of reopened) reopen(state, entry, node);
  const edited = asObject(payload["edited"]);
  const place = keyOf(asText(edited["stepId"]) ?? "", asText(edited["iteration"]) ?? "");
  const given = state.activations.get(place);
  if (given && "input" in edited) put(state, { ...given, input: edited["input"] });
  for (const node of heldBack) {
    put(state, { ...node, isWithdrawn: false, heldBack: [], graceUntil: null });
    arrive(plan, state, node.step, node.iteration, node.heldBack);
    completeLoops(plan, state, node.step, node.iteration);
  }
}

function isReopened(plan: Plan, state: InstanceState, node: Activation): boolean {
  if (isOverAround(plan, state, node)) return false;
  // A quarantined instance left it open; a part of the workflow may have cancelled it.
  if (OPEN.has(node.status)) return node.isWithdrawn || node.graceUntil === null;
  // A failure that was handled has an output, or is that of its iteration.
  if (node.status === "FAILED") return node.written === 0 || node.wasDone;
  return node.status === "CANCELLED" && node.isWithdrawn;
}

/** Whether the iteration around a step has failed, was cancelled or has ended. */
function isOverAround(plan: Plan, state: InstanceState, node: Activation): boolean {
  const loop = plan.nodes.get(node.step)?.loop;
  if (!loop) return false;
  const iteration = state.iterations.get(keyOf(loop, node.iteration));
  return !iteration || iteration.endedAt !== null || iteration.hasFailed || iteration.isCancelled;
}

function isPast(plan: Plan, state: InstanceState, node: Activation): boolean {
  const loop = plan.nodes.get(node.step)?.loop;
  return loop ? state.iterations.get(keyOf(loop, node.iteration))?.endedAt != null : false;
}

function reopen(state: InstanceState, entry: LogEntry, node: Activation): void {
  const loop = state.loops.get(node.key);
  const place = { ...entry, nodeId: node.step, iteration: node.iteration };
  const again: Activation = {
    ...fresh(place, state),
    ...kept(node),
    attempt: node.attempt + 1,
    opened: node.opened,
    attempts: endAttempt(node.attempts, entry, { outcome: "cancelled" }),
    spans: endSpans(node.spans, entry.at),
  };
  if (loop && !loop.isOver) {
    const span = { kind: "loop", attempt: again.attempt, from: entry.at, dueAt: null } as const;
    const spans = openSpan(again.spans, { ...span, seq: entry.seq });
    put(state, { ...again, startedAt: entry.at, isLoop: true, spans });
    return;
  }
  put(state, {
    ...again,
    status: "PENDING",
    input: node.input,
    childVersion: node.childVersion,
    wait: node.wait,
  });
}
