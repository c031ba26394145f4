/** A step begins, changes and ends: its activation, attempts and spans. */

import type { LogEntry, PlacedError } from "../log";
import { keyOf } from "../log";
import { OPEN, type Activation, type Attempt, type InstanceState, type Span } from "../state";

export function fresh(entry: LogEntry, state: InstanceState): Activation {
  const step = entry.nodeId ?? "";
  return {
    key: keyOf(step, entry.iteration),
    step,
    iteration: entry.iteration,
    status: "RUNNING",
    attempt: entry.attempt ?? 1,
    failures: 0,
    losses: 0,
    opened: state.version,
    changed: state.version,
    written: 0,
    startedAt: null,
    dispatchedAt: null,
    completedAt: null,
    executionTime: null,
    queueTime: null,
    worker: null,
    input: undefined,
    output: null,
    error: null,
    handles: [],
    isWait: false,
    wait: null,
    approval: null,
    dueAt: null,
    isLoop: false,
    errors: [],
    graceUntil: null,
    childId: null,
    childVersion: null,
    childStatus: null,
    children: [],
    skippedBecause: null,
    reusedFrom: null,
    isWithdrawn: false,
    heldBack: [],
    wasDone: false,
    attempts: [],
    spans: [],
  };
}

/** A step that begins now; what it keeps from before it was re-opened is with it. */
export function beginning(entry: LogEntry, state: InstanceState): Activation {
  const begun = { ...fresh(entry, state), attempt: 1, startedAt: entry.at };
  const pending = state.activations.get(begun.key);
  if (!pending) return begun;
  return {
    ...begun,
    input: pending.input,
    childVersion: pending.childVersion,
    ...kept(pending),
  };
}

/** What is never forgotten of an activation: what happened in it. */
export function kept(before: Activation): Pick<Activation, "attempts" | "spans" | "children"> {
  return { attempts: before.attempts, spans: before.spans, children: before.children };
}

/** The activation that an entry is about, if it has begun. */
export function begun(entry: LogEntry, state: InstanceState): Activation | undefined {
  const found = state.activations.get(keyOf(entry.nodeId ?? "", entry.iteration));
  return found?.status === "PENDING" ? undefined : found;
}

export function put(state: InstanceState, activation: Activation): void {
  activation.changed = state.version;
  state.activations.set(activation.key, activation);
  if (OPEN.has(activation.status)) state.open.add(activation.key);
  else state.open.delete(activation.key);
}

/** Whether an attempt needs a process: a child does not, once it was started. */
export function isInFlight(node: Activation): boolean {
  return node.status === "RUNNING" && !node.isLoop && node.childId === null;
}

/** An attempt was ordered. */
export function ordered(attempts: Attempt[], entry: LogEntry, input: Attempt["input"]): Attempt[] {
  const attempt: Attempt = {
    number: entry.attempt ?? 1,
    seq: entry.seq,
    orderedAt: entry.at,
    endedAt: null,
    outcome: "running",
    input,
    output: undefined,
    error: null,
    retryable: null,
    executionTime: null,
    queueTime: null,
    worker: null,
    nextAt: null,
    childId: null,
    endSeq: null,
  };
  return [...attempts, attempt];
}

/** The newest attempt with some fields changed; none, where none was ordered. */
export function lastAttempt(attempts: Attempt[], change: Partial<Attempt>): Attempt[] {
  const last = attempts.at(-1);
  return last ? [...attempts.slice(0, -1), { ...last, ...change }] : attempts;
}

/** The newest attempt has ended, unless it had before. */
export function endAttempt(attempts: Attempt[], entry: LogEntry, change: Partial<Attempt>): Attempt[] {
  const last = attempts.at(-1);
  if (!last || (last.endedAt !== null && last.outcome !== "held")) return attempts;
  const endedAt = last.outcome === "held" ? last.endedAt : entry.at;
  return lastAttempt(attempts, { endSeq: entry.seq, ...change, endedAt });
}

export function openSpan(spans: Span[], span: Omit<Span, "to">): Span[] {
  return [...spans, { ...span, to: null }];
}

/** The open spans end now. */
export function endSpans(spans: Span[], at: string): Span[] {
  return spans.some((span) => span.to === null)
    ? spans.map((span) => (span.to === null ? { ...span, to: at } : span))
    : spans;
}

export function placed(entry: LogEntry, failure: { code: string; message: string; details: unknown }): PlacedError {
  const error: PlacedError = {
    code: failure.code,
    message: failure.message,
    stepId: entry.nodeId,
    iteration: entry.iteration,
    attempt: entry.attempt ?? 1,
    at: entry.at,
  };
  if (failure.details !== null && failure.details !== undefined) {
    error.details = failure.details as NonNullable<PlacedError["details"]>;
  }
  return error;
}

/** How long the attempt ran, and was queued before that. */
export function timed(
  node: Activation,
  executionTime: number,
  at: string,
): { executionTime: number; queueTime: number } {
  const since = node.dispatchedAt ?? node.startedAt ?? at;
  const queued = Date.parse(at) - Date.parse(since) - executionTime;
  return { executionTime, queueTime: Math.max(queued, 0) };
}
