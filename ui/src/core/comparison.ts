/** Two versions of a definition as one graph, in which added, removed and changed steps stand together. */

import { diffDefinitions, type DefinitionDiff } from "./diff";
import { graphOf, type Graph } from "./graph";

export interface Comparison {
  diff: DefinitionDiff;
  graph: Graph;
}

export function compared(before: unknown, after: unknown): Comparison {
  const diff = diffDefinitions(before, after);
  const [old, now] = [graphOf(before), graphOf(after)];
  const removed = new Set(diff.removed);
  const gone = new Set(diff.removedEdges);
  const undoing = new Set(now.compensations.map(({ stepId }) => stepId));
  const graph: Graph = {
    ...now,
    nodes: [...now.nodes, ...old.nodes.filter(({ id }) => removed.has(id))],
    edges: [...now.edges, ...old.edges.filter(({ id }) => gone.has(id))],
    compensations: [...now.compensations, ...old.compensations.filter(({ stepId }) => !undoing.has(stepId))],
  };
  return { diff, graph };
}

/** "2 steps added, 1 changed"; "" where only the drawing differs. */
export function diffSummary(diff: DefinitionDiff): string {
  const parts = [
    [diff.added.length, "added"],
    [diff.removed.length, "removed"],
    [diff.changed.length, "changed"],
  ] as const;
  const steps = parts.filter(([count]) => count > 0).map(([count, what], place) => `${count}${place > 0 ? "" : count === 1 ? " step" : " steps"} ${what}`);
  const edges = diff.addedEdges.length + diff.removedEdges.length;
  if (edges > 0) steps.push(`${edges} ${edges === 1 ? "edge" : "edges"} changed`);
  if (diff.rest.length > 0) steps.push(`${diff.rest.length} ${diff.rest.length === 1 ? "setting" : "settings"} changed`);
  return steps.join(", ");
}
