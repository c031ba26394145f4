/** The tree twin of a graph: its nodes in order, bodies of loops below their loops. */

import type { Graph } from "./graph";
import { planOf, type Plan } from "./plan";

export interface OutlineLink {
  edge: string;
  step: string;
  /** What has to be for it: a condition, codes of errors, a handle; "" for the usual way. */
  label: string;
  isError: boolean;
}

export interface OutlineItem {
  id: string;
  type: string;
  title: string;
  /** From 1 on, as `aria-level` counts. */
  level: number;
  /** Its place among its siblings, from 1 on, and how many these are. */
  place: number;
  siblings: number;
  /** Where it goes on. */
  then: OutlineLink[];
  /** Where it comes from. */
  from: OutlineLink[];
  /** How many of several incoming edges have to be taken; null: it is no join. */
  join: "all" | "any" | number | null;
  /** The compensation steps that undo it. */
  undoneBy: string[];
  children: OutlineItem[];
}

export function outlineOf(graph: Graph): OutlineItem[] {
  const plan = planOf(graph);
  return below(plan, null, 1);
}

/** Every item in the order in which it is read. */
export function flattened(items: readonly OutlineItem[]): OutlineItem[] {
  return items.flatMap((item) => [item, ...flattened(item.children)]);
}

function below(plan: Plan, loop: string | null, level: number): OutlineItem[] {
  const ids = plan.order.filter((id) => plan.nodes.get(id)?.loop === loop);
  return ids.map((id, index) => itemOf(plan, id, level, index + 1, ids.length));
}

function itemOf(plan: Plan, id: string, level: number, place: number, siblings: number): OutlineItem {
  const planned = plan.nodes.get(id);
  if (!planned) throw new Error(`no node ${id}`);
  const { node, incoming, outgoing, inward, atLeast, takesArrivals } = planned;
  const isJoin = incoming.length > 1 && !takesArrivals;
  const undoneBy = [...plan.undoes].filter(([, step]) => step === id).map(([step]) => step);
  return {
    id,
    type: node.type,
    title: node.name ?? id,
    level,
    place,
    siblings,
    then: [...inward, ...outgoing].map((edge) => ({
      edge: edge.id,
      step: edge.target,
      label: edge.label,
      isError: edge.isError,
    })),
    from: incoming.map((edge) => ({
      edge: edge.id,
      step: edge.source,
      label: edge.label,
      isError: edge.isError,
    })),
    join: isJoin ? (atLeast === null ? "all" : atLeast === 1 ? "any" : atLeast) : null,
    undoneBy,
    children: planned.body.length > 0 ? below(plan, id, level + 1) : [],
  };
}
