/** What follows from a graph: the order of its nodes, bodies of loops, and joins. */

import type { Graph, GraphEdge, GraphNode } from "./graph";
import { asArray, asObject } from "./json";

export interface PlannedNode {
  node: GraphNode;
  /** Its place in a topological order: where several may go first, the one written first does. */
  order: number;
  /** The innermost loop around it. */
  loop: string | null;
  /** Without those that lead back to a loop from its own body. */
  incoming: GraphEdge[];
  /** To nodes that are inside the same loops. */
  outgoing: GraphEdge[];
  /** From a loop to the first nodes of its body. */
  inward: GraphEdge[];
  /** The nodes whose innermost loop it is, in order. */
  body: string[];
  /** How many incoming edges have to be taken; null: all have arrived, and one is taken. */
  atLeast: number | null;
  /** A loop each of whose taken incoming edges is an item. */
  takesArrivals: boolean;
  /** A loop to which events append items. */
  hears: boolean;
  /** A loop whose iterations run beside each other. */
  isParallel: boolean;
  /** Loops that end when it completes. */
  completes: string[];
}

export interface Plan {
  graph: Graph;
  nodes: Map<string, PlannedNode>;
  /** Ids in topological order. */
  order: string[];
  /** Edges from a loop's body back to the loop. */
  back: Set<string>;
  /** Compensation step → the step that it undoes. */
  undoes: Map<string, string>;
  /** Nodes at the top that nothing follows, in order. */
  sinks: string[];
}

const BODY = "loop";

export function planOf(graph: Graph): Plan {
  const ids = graph.nodes.map((node) => node.id);
  const loops = new Set(graph.nodes.filter((node) => node.type === "loop").map((node) => node.id));
  const back = edgesBack(graph, loops);
  const incoming = grouped(ids, graph.edges, back, (edge) => edge.target);
  const leaving = grouped(ids, graph.edges, back, (edge) => edge.source);
  const order = topological(ids, incoming, leaving);
  const around = loopsAround(order, incoming, loops);
  const bodies = new Map<string, string[]>(ids.map((id) => [id, []]));
  for (const id of order) {
    const loop = around.get(id);
    if (loop) bodies.get(loop)?.push(id);
  }
  const isInward = (edge: GraphEdge) => edge.handle === BODY && loops.has(edge.source);
  const places = new Map(order.map((id, place) => [id, place]));
  const nodes = new Map<string, PlannedNode>();
  for (const node of graph.nodes) {
    const config = node.config;
    const takesArrivals = node.type === "loop" && config["source"] === "arrivals";
    const edges = leaving.get(node.id) ?? [];
    nodes.set(node.id, {
      node,
      order: places.get(node.id) ?? 0,
      loop: around.get(node.id) ?? null,
      incoming: incoming.get(node.id) ?? [],
      outgoing: edges.filter((edge) => !isInward(edge)),
      inward: edges.filter(isInward),
      body: bodies.get(node.id) ?? [],
      atLeast: atLeastOf(config["joinMode"]),
      takesArrivals,
      hears: node.type === "loop" && config["more"] !== undefined && config["more"] !== null,
      isParallel: node.type === "loop" && (config["mode"] === "parallel" || takesArrivals),
      completes: asArray(config["completes"]).map(String),
    });
  }
  return {
    graph,
    nodes,
    order,
    back,
    undoes: new Map(graph.compensations.map((each) => [each.stepId, each.compensationFor])),
    sinks: order.filter((id) => {
      const planned = nodes.get(id);
      return planned?.loop === null && planned.outgoing.length === 0;
    }),
  };
}

function atLeastOf(joinMode: unknown): number | null {
  if (joinMode === "any") return 1;
  const least = asObject(joinMode)["atLeast"];
  return typeof least === "number" ? least : null;
}

/** Edges to a loop from its own body: they end an iteration. */
function edgesBack(graph: Graph, loops: Set<string>): Set<string> {
  const following = new Map<string, GraphEdge[]>();
  for (const edge of graph.edges) {
    const known = following.get(edge.source);
    if (known) known.push(edge);
    else following.set(edge.source, [edge]);
  }
  const back = new Set<string>();
  for (const loop of loops) {
    const pending = (following.get(loop) ?? []).filter((edge) => edge.handle === BODY).map((edge) => edge.target);
    const body = new Set<string>();
    for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
      if (id === loop || body.has(id)) continue;
      body.add(id);
      for (const edge of following.get(id) ?? []) {
        if (edge.target === loop) back.add(edge.id);
        pending.push(edge.target);
      }
    }
  }
  return back;
}

function grouped(
  ids: string[],
  edges: GraphEdge[],
  without: Set<string>,
  end: (edge: GraphEdge) => string,
): Map<string, GraphEdge[]> {
  const found = new Map<string, GraphEdge[]>(ids.map((id) => [id, []]));
  for (const edge of edges) if (!without.has(edge.id)) found.get(end(edge))?.push(edge);
  return found;
}

function loopsAround(
  order: string[],
  incoming: Map<string, GraphEdge[]>,
  loops: Set<string>,
): Map<string, string | null> {
  const found = new Map<string, string | null>();
  for (const id of order) {
    const edge = incoming.get(id)?.[0];
    if (!edge) found.set(id, null);
    else if (edge.handle === BODY && loops.has(edge.source)) found.set(id, edge.source);
    else found.set(id, found.get(edge.source) ?? null);
  }
  return found;
}

/**
 * Kahn's algorithm; of several that may come next, the one that was written first does. Nodes of a
 * cycle, which only an unsaved document has, come last as they are written.
 */
function topological(ids: string[], incoming: Map<string, GraphEdge[]>, leaving: Map<string, GraphEdge[]>): string[] {
  const written = new Map(ids.map((id, place) => [id, place]));
  const missing = new Map(ids.map((id) => [id, incoming.get(id)?.length ?? 0]));
  const pending = new Heap();
  for (const [id, count] of missing) if (count === 0) pending.push(written.get(id) ?? 0);
  const order: string[] = [];
  for (let place = pending.pop(); place !== undefined; place = pending.pop()) {
    const id = ids[place] as string;
    order.push(id);
    for (const edge of leaving.get(id) ?? []) {
      const left = (missing.get(edge.target) ?? 0) - 1;
      missing.set(edge.target, left);
      if (left === 0) pending.push(written.get(edge.target) ?? 0);
    }
  }
  if (order.length < ids.length) {
    const seen = new Set(order);
    order.push(...ids.filter((id) => !seen.has(id)));
  }
  return order;
}

/** The smallest number first. */
class Heap {
  private readonly items: number[] = [];

  push(item: number): void {
    const items = this.items;
    let place = items.push(item) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if ((items[parent] as number) <= item) break;
      items[place] = items[parent] as number;
      place = parent;
    }
    items[place] = item;
  }

  pop(): number | undefined {
    const items = this.items;
    const first = items[0];
    const last = items.pop();
    if (last === undefined || items.length === 0) return first;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && (items[child + 1] as number) < (items[child] as number)) child += 1;
      if ((items[child] as number) >= last) break;
      items[place] = items[child] as number;
      place = child;
    }
    items[place] = last;
    return first;
  }
}
