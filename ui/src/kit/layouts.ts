import { useEffect, useMemo, useState } from "react";

import type { Graph } from "../core/graph";
import { layoutOf, type Layout, type LayoutOptions } from "../core/layout";

export interface LayoutTask {
  number: number;
  graph: Graph;
  options: LayoutOptions;
}

/** A smaller graph is laid out in less time than a worker needs to start. */
const SMALL = 150;

let worker: Worker | null = null;
let newest = 0;
const awaited = new Map<number, { task: LayoutTask; give: (layout: Layout) => void }>();

/** Where the nodes of a graph stand; null while a large one is laid out. */
export function useLayout(graph: Graph, compensations: boolean): Layout | null {
  const isSmall = graph.nodes.length <= SMALL;
  const small = useMemo(() => (isSmall ? layoutOf(graph, { compensations }) : null), [graph, compensations, isSmall]);
  const [large, setLarge] = useState<{ of: Graph; compensations: boolean; layout: Layout } | null>(null);
  useEffect(() => {
    if (isSmall) return;
    return laidOut(graph, { compensations }, (layout) => setLarge({ of: graph, compensations, layout }));
  }, [graph, compensations, isSmall]);
  if (isSmall) return small;
  return large !== null && large.of === graph && large.compensations === compensations ? large.layout : null;
}

/** Lay out in the worker; what it returns takes the request back. */
function laidOut(graph: Graph, options: LayoutOptions, give: (layout: Layout) => void): () => void {
  const task = { number: ++newest, graph, options };
  awaited.set(task.number, { task, give });
  started().postMessage(task);
  return () => awaited.delete(task.number);
}

function started(): Worker {
  if (worker !== null) return worker;
  worker = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
  worker.addEventListener("message", ({ data }: MessageEvent<{ number: number; layout: Layout }>) => {
    awaited.get(data.number)?.give(data.layout);
    awaited.delete(data.number);
  });
  // Where it cannot be loaded or fails, the page waits for itself.
  worker.addEventListener("error", () => {
    worker?.terminate();
    worker = null;
    const left = [...awaited.values()];
    awaited.clear();
    for (const { task, give } of left) give(layoutOf(task.graph, task.options));
  });
  return worker;
}
