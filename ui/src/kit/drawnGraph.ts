import { kindWords, stepDetail } from "../core/definition";
import type { Graph } from "../core/graph";
import { layoutOf, type LayoutOptions } from "../core/layout";
import type { GraphBox, GraphFrame, GraphLine } from "./Graph";

export interface DrawnGraph {
  boxes: GraphBox[];
  lines: GraphLine[];
  frames: GraphFrame[];
}

/** A definition as `Graph` draws it: each step in its place, without the state of any instance. */
export function drawnGraph(graph: Graph, options: LayoutOptions = { compensations: true }): DrawnGraph {
  const layout = layoutOf(graph, options);
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  const edges = new Map(graph.edges.map((edge) => [edge.id, edge]));
  const undoing = new Map(graph.compensations.map((each) => [each.stepId, each]));
  return {
    boxes: layout.nodes.map(({ id, kind, x, y, width, height }): GraphBox => {
      const place = { id, x, y, width, height };
      if (kind === "compensation") {
        const step = undoing.get(id);
        return { ...place, title: id, kind: `Undoes ${step?.compensationFor ?? "a step"}`, detail: step?.taskId ?? "", isUndo: true };
      }
      const node = nodes.get(id);
      if (node === undefined) return { ...place, title: id, kind: kindWords("") };
      return { ...place, title: node.name ?? id, kind: kindWords(node.type), detail: stepDetail(node.type, node.config) };
    }),
    lines: layout.edges.map(({ id, source, target, kind, points }): GraphLine => {
      const edge = edges.get(id);
      const label = edge?.label ?? "";
      return {
        id,
        source,
        target,
        points,
        ...(label === "" ? {} : { label: label.length > 40 ? `${label.slice(0, 39)}…` : label }),
        ...(edge?.isError === true ? { isError: true } : {}),
        ...(kind === "compensation" ? { isUndo: true } : {}),
      };
    }),
    frames: layout.frames.map(({ loop, x, y, width, height }): GraphFrame => ({
      id: loop,
      title: nodes.get(loop)?.name ?? loop,
      x,
      y,
      width,
      height,
    })),
  };
}
