/** What a retry, and a rerun, would keep and do again. The service decides; this says it beforehand. */

import { foldAll, type InstanceState } from "../../../core/fold";
import { keyOf, type LogEntry } from "../../../core/log";
import type { Plan } from "../../../core/plan";

export interface Redo {
  /** Steps whose outcomes stay. */
  kept: string[];
  /** Steps that run again. */
  again: string[];
  /** Steps that have not been reached and follow. */
  after: string[];
}

/** Of a retry of what failed: the fold knows what it opens again. */
export function retryOf(plan: Plan, state: InstanceState): Redo {
  const asked: LogEntry = {
    seq: state.version + 1,
    eventType: "RETRY_REQUESTED",
    nodeId: null,
    iteration: "",
    attempt: null,
    nodeStatus: null,
    outputVariable: null,
    payload: {},
    errorMessage: null,
    at: state.updatedAt ?? "",
  };
  const then = foldAll(plan, state, [asked]);
  const again: string[] = [];
  const kept: string[] = [];
  for (const [key, node] of state.activations) {
    const next = then.activations.get(key);
    if (next !== undefined && next.attempt > node.attempt) again.push(key);
    else if (node.status === "COMPLETED" && node.iteration === "") kept.push(key);
  }
  const after = new Set(again.flatMap((key) => [...following(plan, then.activations.get(key)?.step ?? "")]));
  return { kept, again, after: [...after].filter((id) => !again.includes(id) && !state.activations.has(id)) };
}

/** Of a rerun from a step: null runs everything again. */
export function rerunOf(plan: Plan, state: InstanceState, from: string | null): Redo {
  const steps = plan.order.filter((id) => plan.nodes.get(id)?.loop === null);
  const reached = (id: string) => state.activations.get(id)?.status;
  if (from === null) return { kept: [], again: steps.filter((id) => reached(id) !== undefined), after: steps.filter((id) => reached(id) === undefined) };
  const redone = following(plan, from);
  for (const item of state.compensation?.items ?? []) {
    for (const id of following(plan, outermost(plan, item.compensationFor))) redone.add(id);
  }
  const isKept = (id: string) => {
    const node = state.activations.get(id);
    return !redone.has(id) && node !== undefined && (node.written > 0 || node.status === "COMPLETED") && plan.nodes.get(id)?.node.type !== "terminate";
  };
  const kept = steps.filter(isKept);
  const rest = steps.filter((id) => !kept.includes(id) && state.activations.get(id)?.skippedBecause !== "dead-path");
  return { kept, again: rest.filter((id) => reached(id) !== undefined), after: rest.filter((id) => reached(id) === undefined) };
}

function outermost(plan: Plan, step: string): string {
  let name = step;
  for (let loop = plan.nodes.get(name)?.loop; loop; loop = plan.nodes.get(name)?.loop) name = loop;
  return name;
}

function following(plan: Plan, step: string): Set<string> {
  const found = new Set<string>();
  const pending = [step];
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    if (found.has(id)) continue;
    found.add(id);
    for (const edge of plan.nodes.get(id)?.outgoing ?? []) pending.push(edge.target);
  }
  return found;
}

/** The activations that failed, in order: the keys `n` and `N` go through them. */
export function failures(state: InstanceState): { step: string; iteration: string }[] {
  return [...state.activations.values()]
    .filter((node) => node.status === "FAILED")
    .map(({ step, iteration }) => ({ step, iteration }));
}

export const isSamePlace = (one: { step: string; iteration: string }, step: string | null, iteration: string): boolean =>
  keyOf(one.step, one.iteration) === keyOf(step ?? "", iteration);
