/**
 * Where the nodes of a graph stand, by dagre. The body of a loop is laid out by itself, and stands in
 * a frame that is one node of the graph around it: so frames never overlap what is outside of them.
 * The same graph gives the same layout; plain values go in and out, so that a worker can do it.
 */

import { Graph as DagreGraph, layout } from "@dagrejs/dagre";
import type { Graph, GraphEdge } from "./graph";
import { planOf, type Plan } from "./plan";

export interface Size {
  width: number;
  height: number;
}

export interface LayoutOptions {
  direction?: "LR" | "TB";
  /** The size of every node. */
  node?: Size;
  /** Loops that are drawn without their bodies. */
  collapsed?: readonly string[];
  /** Whether compensation steps are drawn beside the steps that they undo. */
  compensations?: boolean;
}

export interface PlacedNode extends Size {
  id: string;
  kind: "node" | "compensation";
  /** The upper left corner. */
  x: number;
  y: number;
  /** The loop in whose frame it stands; a loop stands in its own. */
  frame: string | null;
}

export interface Frame extends Size {
  loop: string;
  x: number;
  y: number;
  /** How many frames are around it. */
  depth: number;
}

export interface Point {
  x: number;
  y: number;
}

export interface RoutedEdge {
  id: string;
  source: string;
  target: string;
  handle: string;
  kind: "edge" | "compensation";
  points: Point[];
}

export interface Layout extends Size {
  nodes: PlacedNode[];
  edges: RoutedEdge[];
  frames: Frame[];
}

const NODE: Size = { width: 180, height: 56 };
const PADDING = 16;
const HEADER = 20;
const LONGEST_LABEL = 24;
/** Between the lines that lead from one node to the same other one. */
const BESIDE = 28;
/** A larger graph is laid out by methods that are less tidy and much faster. */
const LARGE = 400;

export function layoutOf(graph: Graph, options: LayoutOptions = {}): Layout {
  const plan = planOf(graph);
  const drawing = new Drawing(plan, options);
  const whole = drawing.level(null, 0);
  return {
    width: whole.width,
    height: whole.height,
    nodes: whole.nodes,
    edges: whole.edges,
    frames: whole.frames,
  };
}

/** What stands in one frame, or at the top, with its corner at 0, 0. */
type Level = Layout;

class Drawing {
  private readonly direction: "LR" | "TB";
  private readonly size: Size;
  private readonly collapsed: ReadonlySet<string>;

  private readonly plan: Plan;
  private readonly options: LayoutOptions;

  constructor(plan: Plan, options: LayoutOptions) {
    this.plan = plan;
    this.options = options;
    this.direction = options.direction ?? "LR";
    this.size = options.node ?? NODE;
    this.collapsed = new Set(options.collapsed);
  }

  /** The nodes whose innermost loop is `loop`, with the loop itself. */
  level(loop: string | null, depth: number): Level {
    const { plan } = this;
    const inside = plan.order.filter((id) => plan.nodes.get(id)?.loop === loop);
    const members = loop === null ? inside : [loop, ...inside];
    const inner = new Map<string, Level>();
    for (const id of inside) {
      const body = plan.nodes.get(id)?.body ?? [];
      if (body.length > 0 && !this.collapsed.has(id)) inner.set(id, this.level(id, depth + 1));
    }
    const undoing = this.options.compensations ? this.compensationsOf(members, loop) : [];
    const edges = this.edgesOf(loop, inside);
    const drawn = this.arranged(members, inner, edges, undoing);
    return this.assembled(loop, depth, members, inner, edges, undoing, drawn);
  }

  private compensationsOf(members: string[], loop: string | null) {
    const here = new Set(members.filter((id) => id !== loop));
    const known = this.plan.nodes;
    return this.plan.graph.compensations.filter((each) => here.has(each.compensationFor) && !known.has(each.stepId));
  }

  private edgesOf(loop: string | null, inside: string[]): GraphEdge[] {
    const leaving = inside.flatMap((id) => this.plan.nodes.get(id)?.outgoing ?? []);
    const inward = loop === null ? [] : (this.plan.nodes.get(loop)?.inward ?? []);
    return [...inward, ...leaving];
  }

  private arranged(
    members: string[],
    inner: Map<string, Level>,
    edges: GraphEdge[],
    undoing: readonly { stepId: string; compensationFor: string }[],
  ): DagreGraph {
    const graph = new DagreGraph({ multigraph: true });
    const isLarge = members.length > LARGE;
    graph.setGraph({
      rankdir: this.direction,
      nodesep: 28,
      edgesep: 12,
      ranksep: 56,
      marginx: 0,
      marginy: 0,
      ranker: isLarge ? "longest-path" : "network-simplex",
    });
    for (const id of members) graph.setNode(id, this.sizeOf(inner.get(id)));
    for (const { stepId, compensationFor } of undoing) {
      graph.setNode(stepId, { ...this.size });
      // Hardly any weight, yet some: dagre divides by the sum of the weights.
      graph.setEdge(compensationFor, stepId, { weight: 0.1 }, `undo ${stepId}`);
    }
    // As one edge that is as wide as all of them: of three edges between the same nodes dagre loses one.
    for (const [{ source, target, isError, label }, ...more] of parallels(edges)) {
      const across = more.length * BESIDE;
      const space = across === 0 ? labelRoom(label) : this.direction === "LR" ? { width: 1, height: across } : { width: across, height: 1 };
      graph.setEdge(source, target, { weight: (isError ? 1 : 2) + more.length, labelpos: "c", ...space }, LINE);
    }
    layout(graph, isLarge ? { disableOptimalOrderHeuristic: true } : {});
    return graph;
  }

  private sizeOf(level: Level | undefined): Size {
    if (!level) return { ...this.size };
    return { width: level.width + 2 * PADDING, height: level.height + 2 * PADDING + HEADER };
  }

  private assembled(
    loop: string | null,
    depth: number,
    members: string[],
    inner: Map<string, Level>,
    edges: GraphEdge[],
    undoing: readonly { stepId: string; compensationFor: string }[],
    graph: DagreGraph,
  ): Level {
    const nodes: PlacedNode[] = [];
    const routed: RoutedEdge[] = [];
    const frames: Frame[] = [];
    const corner = (id: string) => {
      const { x, y, width, height } = graph.node(id) as Size & Point;
      return { x: x - width / 2, y: y - height / 2, width, height };
    };
    for (const id of members) {
      const place = corner(id);
      const level = inner.get(id);
      if (!level) {
        nodes.push({ id, kind: "node", ...place, frame: loop });
        continue;
      }
      frames.push({ loop: id, ...place, depth });
      const by = { x: place.x + PADDING, y: place.y + PADDING + HEADER };
      nodes.push(...level.nodes.map((node) => moved(node, by)));
      frames.push(...level.frames.map((frame) => moved(frame, by)));
      routed.push(...level.edges.map((edge) => ({ ...edge, points: edge.points.map((point) => moved(point, by)) })));
    }
    for (const { stepId } of undoing) {
      nodes.push({ id: stepId, kind: "compensation", ...corner(stepId), frame: loop });
    }
    const points = (source: string, target: string, name: string): Point[] =>
      ((graph.edge(source, target, name) as { points?: Point[] } | undefined)?.points ?? []).map(({ x, y }) => ({
        x,
        y,
      }));
    for (const together of parallels(edges)) {
      together.forEach(({ id, source, target, handle }, place) => {
        const aside = (place - (together.length - 1) / 2) * BESIDE;
        const by = this.direction === "LR" ? { x: 0, y: aside } : { x: aside, y: 0 };
        const route = points(source, target, LINE);
        const bent = route.map((point, at) => (at === 0 || at === route.length - 1 ? point : moved(point, by)));
        routed.push({ id, source, target, handle, kind: "edge", points: bent });
      });
    }
    for (const { stepId, compensationFor } of undoing) {
      const id = `undo ${stepId}`;
      const ends = { source: compensationFor, target: stepId };
      const route = points(compensationFor, stepId, id);
      routed.push({ id, ...ends, handle: "compensation", kind: "compensation", points: route });
    }
    const { width = 0, height = 0 } = graph.graph() as Partial<Size>;
    return { width: finite(width), height: finite(height), nodes, edges: routed, frames };
  }
}

/** The name of an edge in dagre's graph, beside those of compensations. */
const LINE = "line";

/** Edges by the nodes that they join, in the order of the first of each. */
function parallels(edges: readonly GraphEdge[]): [GraphEdge, ...GraphEdge[]][] {
  const found = new Map<string, [GraphEdge, ...GraphEdge[]]>();
  for (const edge of edges) {
    const key = JSON.stringify([edge.source, edge.target]);
    const others = found.get(key);
    if (others) others.push(edge);
    else found.set(key, [edge]);
  }
  return [...found.values()];
}

function moved<T extends Point>(what: T, by: Point): T {
  return { ...what, x: what.x + by.x, y: what.y + by.y };
}

/** Room for what is written at an edge, so that it stands beside boxes and not behind them. */
function labelRoom(label: string | null | undefined): Partial<Size> & { labelpos?: "c" } {
  return label ? { width: shortLabel(label).length * 6.5 + 12, height: 18, labelpos: "c" } : {};
}

/** A label as it is written at an edge. */
export const shortLabel = (label: string): string => (label.length > LONGEST_LABEL ? `${label.slice(0, LONGEST_LABEL - 1)}…` : label);

/** An empty graph has no extent. */
function finite(length: number): number {
  return Number.isFinite(length) ? Math.max(length, 0) : 0;
}
