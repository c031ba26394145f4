/** What each entry of a loop does to the state: iterations with variables of their own. */

import { asArray, asObject, asText, type Json, type JsonObject } from "../json";
import { around, failureOf, indexOf, keyOf, type LogEntry } from "../log";
import type { Plan } from "../plan";
import type { InstanceState, Iteration, LoopState } from "../state";
import { beginning, openSpan, put } from "./activations";
import { enter } from "./edges";

const NONE: Iteration["variables"] = new Map();

export function iterationStarted(plan: Plan, state: InstanceState, entry: LogEntry, payload: JsonObject): void {
  const step = entry.nodeId ?? "";
  const outside = around(entry.iteration);
  const key = keyOf(step, outside);
  let loop = state.loops.get(key);
  if (!loop || loop.isOver) {
    loop = enterLoop(plan, state, { ...entry, iteration: outside }, payload);
  }
  const index = indexOf(entry.iteration);
  const path = keyOf(step, entry.iteration);
  state.iterations.set(path, {
    key: path,
    loop: step,
    path: entry.iteration,
    index,
    status: "running",
    startedAt: entry.at,
    endedAt: null,
    item: itemOf(state, loop, index, path),
    output: undefined,
    error: null,
    eventId: asText(payload["eventId"]),
    from: asText(payload["from"]),
    hasFailed: false,
    isCancelled: false,
    variables: NONE,
    startSeq: entry.seq,
    endSeq: null,
  });
  state.loops.set(key, { ...loop, started: loop.started + 1, active: loop.active + 1 });
  enter(plan, state, step, entry.iteration);
}

function enterLoop(plan: Plan, state: InstanceState, entry: LogEntry, payload: JsonObject): LoopState {
  const planned = plan.nodes.get(entry.nodeId ?? "");
  const items = planned?.takesArrivals ? [] : "items" in payload ? asArray(payload["items"]) : null;
  const before = state.activations.get(keyOf(entry.nodeId ?? "", entry.iteration));
  const node = { ...beginning(entry, state), attempt: entry.attempt ?? 1, isLoop: true };
  node.spans = openSpan(before?.spans ?? [], {
    kind: "loop",
    attempt: node.attempt,
    from: entry.at,
    dueAt: asText(payload["failAt"]),
    seq: entry.seq,
  });
  put(state, node);
  return {
    key: node.key,
    step: node.step,
    length: items === null ? null : items.length,
    items,
    started: 0,
    active: 0,
    succeeded: 0,
    failed: 0,
    cancelled: 0,
    skipped: 0,
    hasEnough: false,
    endsAll: false,
    isOver: false,
    opened: state.version,
  };
}

function itemOf(state: InstanceState, loop: LoopState, index: number, path: string): Json | undefined {
  const from = state.arrivals.get(loop.key)?.[index];
  if (from !== undefined) {
    const iteration = state.activations.get(loop.key)?.iteration ?? "";
    return { from, output: state.activations.get(keyOf(from, iteration))?.output ?? null };
  }
  return loop.items !== null && index < loop.items.length ? loop.items[index] : state.added.get(path);
}

export function iterationEnded(state: InstanceState, entry: LogEntry, payload: JsonObject): void {
  const step = entry.nodeId ?? "";
  const key = keyOf(step, around(entry.iteration));
  const path = keyOf(step, entry.iteration);
  const loop = state.loops.get(key);
  const iteration = state.iterations.get(path);
  if (!loop || !iteration) return;
  const status = asText(payload["status"]) ?? "success";
  const failure = payload["error"] ? failureOf(payload) : null;
  const output = payload["output"] ?? null;
  state.iterations.set(path, {
    ...iteration,
    status,
    endedAt: entry.at,
    endSeq: entry.seq,
    output: status === "success" ? output : undefined,
    error: failure && { code: failure.code, message: failure.message, details: failure.details },
  });
  const after: LoopState = { ...loop, active: loop.active - 1 };
  if (status === "success") after.succeeded += 1;
  else if (failure) {
    after.failed += 1;
  } else after.cancelled += 1;
  state.loops.set(key, after);
  leaveLoop(state, key);
}

/** An item never begins: its loop has enough. */
export function itemSkipped(state: InstanceState, entry: LogEntry): void {
  const key = keyOf(entry.nodeId ?? "", around(entry.iteration));
  const loop = state.loops.get(key);
  if (loop) state.loops.set(key, { ...loop, skipped: loop.skipped + 1, hasEnough: true });
}

/** An event appended an item to a loop under way. */
export function itemAdded(state: InstanceState, key: string, item: Json): void {
  const loop = state.loops.get(key);
  if (!loop) return;
  const length = loop.length ?? 0;
  const outside = state.activations.get(key)?.iteration ?? "";
  state.added.set(keyOf(loop.step, outside ? `${outside}/${length}` : String(length)), item);
  state.loops.set(key, { ...loop, length: length + 1 });
}

/** A step was done that `completes` loops: those under way end with what they have. */
export function completeLoops(plan: Plan, state: InstanceState, step: string, iteration: string): void {
  for (const name of plan.nodes.get(step)?.completes ?? []) {
    const key = keyOf(name, seenFrom(plan, step, iteration, name));
    const loop = state.loops.get(key);
    if (loop && !loop.isOver && state.open.has(key)) {
      state.loops.set(key, { ...loop, hasEnough: true, endsAll: true });
    }
  }
}

/** The iteration in which `step[iteration]` sees the step `other`. */
function seenFrom(plan: Plan, step: string, iteration: string, other: string): string {
  const wanted = plan.nodes.get(other)?.loop ?? null;
  let loop = plan.nodes.get(step)?.loop ?? null;
  let path = iteration;
  while (loop !== wanted && loop !== null) {
    loop = plan.nodes.get(loop)?.loop ?? null;
    path = around(path);
  }
  return path;
}

/** A step failed, and its iteration with it: nothing more of that begins. */
export function itemFailed(plan: Plan, state: InstanceState, entry: LogEntry): void {
  const loop = plan.nodes.get(entry.nodeId ?? "")?.loop;
  const iteration = loop && state.iterations.get(keyOf(loop, entry.iteration));
  if (!loop || !iteration) return;
  state.iterations.set(iteration.key, { ...iteration, hasFailed: true });
  cancelInner(plan, state, iteration);
}

/**
 * A loop has its outcome. Its open iterations end by themselves, or are cancelled. One that ends
 * with its instance (`mayGoOn`) is re-opened by a retry.
 */
export function closeLoop(plan: Plan, state: InstanceState, key: string, mayGoOn: boolean): void {
  const node = state.activations.get(key);
  const loop = state.loops.get(key);
  const planned = node && plan.nodes.get(node.step);
  const isCancelled = node?.status !== "COMPLETED" || planned?.node.config["cancelRest"] === true || loop?.endsAll;
  if (isCancelled && !mayGoOn && loop) cancelIterations(plan, state, loop);
  leaveLoop(state, key);
}

function cancelIterations(plan: Plan, state: InstanceState, loop: LoopState): void {
  const outside = state.activations.get(loop.key)?.iteration ?? "";
  let left = loop.active;
  // Those that began last are looked at first: few others are still under way.
  for (let index = loop.started - 1; index >= 0 && left > 0; index -= 1) {
    const path = outside ? `${outside}/${index}` : String(index);
    const found = state.iterations.get(keyOf(loop.step, path));
    if (!found || found.endedAt !== null) continue;
    left -= 1;
    const cancelled = { ...found, isCancelled: true };
    state.iterations.set(found.key, cancelled);
    cancelInner(plan, state, cancelled);
  }
}

function cancelInner(plan: Plan, state: InstanceState, iteration: Iteration): void {
  for (const name of plan.nodes.get(iteration.loop)?.body ?? []) {
    const inner = state.loops.get(keyOf(name, iteration.path));
    if (inner) cancelIterations(plan, state, inner);
  }
}

/** What went wrong in single iterations of a loop, in order. */
export function errorsOf(state: InstanceState, key: string): Json[] {
  const loop = state.loops.get(key);
  const outside = state.activations.get(key)?.iteration ?? "";
  const found: Json[] = [];
  for (let index = 0; loop && loop.failed > 0 && index < loop.started; index += 1) {
    const path = outside ? `${outside}/${index}` : String(index);
    const error = state.iterations.get(keyOf(loop.step, path))?.error;
    if (error) found.push({ index, error: { ...error } });
  }
  return found;
}

/** A loop is over once it has its outcome and no iteration of it is under way. */
function leaveLoop(state: InstanceState, key: string): void {
  const loop = state.loops.get(key);
  // An instance that fails keeps the loop as it is: it may be retried.
  if (loop && loop.active === 0 && state.ending === null && !state.open.has(key)) {
    state.loops.set(key, { ...loop, isOver: true });
  }
}

/** The variables of an iteration's own, if a step is in one. */
export function iterationOf(plan: Plan, state: InstanceState, step: string, iteration: string): Iteration | undefined {
  const loop = plan.nodes.get(step)?.loop;
  return loop ? state.iterations.get(keyOf(loop, iteration)) : undefined;
}

export function peopleOf(value: unknown): { users: string[]; roles: string[] } {
  const people = asObject(value);
  return { users: asArray(people["users"]).map(String), roles: asArray(people["roles"]).map(String) };
}
