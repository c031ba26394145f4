/** Edges and joins: how they have arrived once a step has its outcome. */

import type { GraphEdge } from "../graph";
import { keyOf } from "../log";
import type { Plan, PlannedNode } from "../plan";
import type { InstanceState, Join } from "../state";

/** The edges of a step have arrived: taken on `handles`, else dead. */
export function arrive(
  plan: Plan,
  state: InstanceState,
  step: string,
  iteration: string,
  handles: readonly string[],
): void {
  arriveAll(plan, state, plan.nodes.get(step)?.outgoing ?? [], iteration, handles);
}

/** The edges from a loop into its body have been taken, in one of its iterations. */
export function enter(plan: Plan, state: InstanceState, loop: string, iteration: string): void {
  arriveAll(plan, state, plan.nodes.get(loop)?.inward ?? [], iteration, ["loop"]);
}

function arriveAll(
  plan: Plan,
  state: InstanceState,
  edges: readonly GraphEdge[],
  iteration: string,
  handles: readonly string[],
): void {
  for (const edge of edges) {
    const planned = plan.nodes.get(edge.target);
    if (!planned) continue;
    const target = keyOf(edge.target, iteration);
    const taken = handles.includes(edge.handle);
    state.edges.set(keyOf(edge.id, iteration), { taken, seq: state.version });
    const isKnown = state.activations.has(target) && !planned.takesArrivals;
    if (isKnown || (iteration && isOver(state, planned, iteration))) continue;
    if (planned.incoming.length > 1 || planned.takesArrivals) {
      count(state, planned, target, edge, taken);
    }
  }
}

function count(state: InstanceState, planned: PlannedNode, target: string, edge: GraphEdge, taken: boolean): void {
  const before: Join = state.joins.get(target) ?? {
    taken: 0,
    dead: 0,
    edges: planned.incoming.length,
    firedAt: null,
    arrivals: [],
  };
  if (!planned.takesArrivals && hasFired(planned, before)) return;
  const after: Join = {
    ...before,
    taken: before.taken + (taken ? 1 : 0),
    dead: before.dead + (taken ? 0 : 1),
    arrivals: [...before.arrivals, { edge: edge.id, from: edge.source, taken, seq: state.version }],
  };
  const fires = planned.takesArrivals ? after.taken > 0 : hasFired(planned, after);
  if (after.firedAt === null && fires) after.firedAt = state.version;
  state.joins.set(target, after);
  if (planned.takesArrivals && taken) {
    state.arrivals.set(target, [...(state.arrivals.get(target) ?? []), edge.source]);
  }
}

function isOver(state: InstanceState, planned: PlannedNode, iteration: string): boolean {
  if (planned.loop === null) return false;
  const found = state.iterations.get(keyOf(planned.loop, iteration));
  return found !== undefined && found.endedAt === null && (found.hasFailed || found.isCancelled);
}

function hasFired(planned: PlannedNode, join: Join): boolean {
  if (planned.atLeast === null) {
    return join.taken > 0 && join.taken + join.dead === planned.incoming.length;
  }
  return join.taken >= planned.atLeast;
}
