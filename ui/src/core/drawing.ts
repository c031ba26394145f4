/** Boxes, lines and frames of a drawn graph with what is written on them: of a definition, or of an instance. */

import type { DefinitionDiff } from "./diff";
import type { Graph, GraphNode } from "./graph";
import { asNumber, asObject, asText } from "./json";
import type { Layout, PlacedNode, Point } from "./layout";
import { keyOf } from "./log";
import type { Plan } from "./plan";
import type { Activation, CompensationItem, InstanceState } from "./state";
import { counts } from "./iterations";
import { pickIteration } from "./timeline";

export type Mark = "added" | "removed" | "changed";

export interface DrawnNode {
  id: string;
  title: string;
  /** The kind of node, in words. */
  kind: string;
  status?: string;
  /** A short line: "attempt 2 of 5", "37 of 120". */
  detail?: string;
  change?: Mark;
  /** Whether it undoes another node. */
  isUndo?: boolean;
  x: number;
  y: number;
  width: number;
  height: number;
  /** The loop in whose frame it stands. */
  frame: string | null;
}

export interface DrawnFrame {
  /** The loop. */
  id: string;
  title: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface DrawnEdge {
  id: string;
  source: string;
  target: string;
  label?: string;
  isError?: boolean;
  /** Whether it leads to what undoes its source. */
  isUndo?: boolean;
  /** Whether the instance went this way; undefined: it has not come so far. */
  isTaken?: boolean;
  points: readonly Point[];
  change?: Mark;
}

export interface Drawn {
  boxes: DrawnNode[];
  lines: DrawnEdge[];
  frames: DrawnFrame[];
}

export interface DrawOptions {
  state?: InstanceState;
  /** By the key of a loop, the index of the iteration that is shown. */
  picked?: ReadonlyMap<string, number>;
  diff?: DefinitionDiff;
}

const KINDS: Record<string, string> = {
  start: "start",
  end: "end",
  task: "task",
  eventWait: "event wait",
  condition: "condition",
  delay: "delay",
  loop: "loop",
  javascript: "JavaScript",
  dataQuery: "data query",
  http: "HTTP request",
  subWorkflow: "workflow",
  emit: "emit",
  set: "set variables",
  terminate: "terminate",
  approval: "approval",
};

/** A node's type in words; one that is not known as it is written. */
export function kindOf(type: string): string {
  return Object.hasOwn(KINDS, type) ? (KINDS[type] as string) : type;
}

export function drawn(plan: Plan, layout: Layout, options: DrawOptions = {}): Drawn {
  const { graph } = plan;
  const iterations = iterationsShown(plan, options);
  const boxes = layout.nodes.map((placed) =>
    placed.kind === "node" ? nodeOf(plan, placed, options, iterations) : compensationOf(graph, placed, options),
  );
  const known = new Map(graph.edges.map((edge) => [edge.id, edge]));
  const added = new Set(options.diff?.addedEdges);
  const removed = new Set(options.diff?.removedEdges);
  const lines = layout.edges.map(({ id, source, target, kind, points }): DrawnEdge => {
    const edge = known.get(id);
    const isInward = edge?.handle === "loop" && plan.nodes.get(target)?.loop === source;
    const iteration = iterations.get(isInward ? target : source) ?? "";
    const arrived = options.state?.edges.get(keyOf(id, iteration));
    return {
      id,
      source,
      target,
      ...(edge?.label ? { label: edge.label } : {}),
      ...(edge?.isError ? { isError: true } : {}),
      ...(kind === "compensation" ? { isUndo: true } : {}),
      ...(arrived ? { isTaken: arrived.taken } : {}),
      ...(added.has(id) ? { change: "added" as const } : removed.has(id) ? { change: "removed" as const } : {}),
      points,
    };
  });
  const frames = layout.frames.map(({ loop, x, y, width, height }) => {
    const title = plan.nodes.get(loop)?.node.name ?? loop;
    return { id: loop, title, x, y, width, height };
  });
  return { boxes, lines, frames };
}

/** By node, the iteration in which it is shown: the picked one of each loop around it. */
export function iterationsShown(
  plan: Plan,
  { state, picked }: Pick<DrawOptions, "state" | "picked">,
): Map<string, string> {
  const shown = new Map<string, string>();
  for (const id of plan.order) {
    const loop = plan.nodes.get(id)?.loop;
    if (!loop) {
      shown.set(id, "");
      continue;
    }
    const outside = shown.get(loop) ?? "";
    const key = keyOf(loop, outside);
    const index = picked?.get(key) ?? (state ? pickIteration(plan, state, key)?.index : undefined) ?? 0;
    shown.set(id, outside ? `${outside}/${index}` : String(index));
  }
  return shown;
}

function nodeOf(
  plan: Plan,
  { id, x, y, width, height, frame }: PlacedNode,
  { state, diff }: DrawOptions,
  iterations: Map<string, string>,
): DrawnNode {
  const node = plan.nodes.get(id)?.node as GraphNode;
  const key = keyOf(id, iterations.get(id) ?? "");
  const activation = state?.activations.get(key);
  const detail = state && detailOf(plan, state, node, key, activation);
  const change = diff && changeOf(diff, id);
  return {
    id,
    title: node.name ?? id,
    kind: subjectOf(node),
    ...(state ? { status: activation?.status ?? "PENDING" } : {}),
    ...(detail ? { detail } : {}),
    ...(change ? { change } : {}),
    x,
    y,
    width,
    height,
    frame,
  };
}

/** "task charge", "event wait payment.received": the kind, and what it is about. */
function subjectOf({ type, config }: GraphNode): string {
  const about = ["taskId", "eventPattern", "workflowId", "pattern", "dataQueryID"].map((name) => asText(config[name]));
  const subject = about.find((each) => each !== null);
  return subject ? `${kindOf(type)} ${subject}` : kindOf(type);
}

function detailOf(plan: Plan, state: InstanceState, node: GraphNode, key: string, activation: Activation | undefined): string {
  const stored = state.loops.get(key);
  if (stored) {
    const loop = counts(plan, state, stored);
    const ended = loop.succeeded + loop.failed + loop.cancelled;
    const failed = loop.failed > 0 ? `, ${loop.failed} failed` : "";
    return loop.length === null ? `${ended} done${failed}` : `${ended} of ${loop.length}${failed}`;
  }
  const join = state.joins.get(key);
  if (!activation && join) return `${join.taken + join.dead} of ${join.edges} arrived`;
  if (!activation) return "";
  if (activation.skippedBecause) return activation.skippedBecause;
  const most = asNumber(asObject(node.config["retry"])["maxAttempts"]);
  const isShown = activation.attempt > 1 && activation.startedAt !== null;
  return isShown ? `attempt ${activation.attempt}${most === null ? "" : ` of ${most}`}` : "";
}

function compensationOf(graph: Graph, placed: PlacedNode, { state }: DrawOptions): DrawnNode {
  const { id, x, y, width, height, frame } = placed;
  const link = graph.compensations.find((each) => each.stepId === id);
  const items = state?.compensation?.items.filter((item) => item.stepId === id) ?? [];
  const status = compensationStatus(items);
  return {
    id,
    title: id,
    kind: link?.taskId ? `compensation ${link.taskId}` : "compensation",
    isUndo: true,
    ...(state ? { status: status ?? "PENDING" } : {}),
    ...(items.length > 1 ? { detail: `${items.filter(isDone).length} of ${items.length}` } : {}),
    x,
    y,
    width,
    height,
    frame,
  };
}

const isDone = (item: CompensationItem): boolean => item.status === "COMPLETED";

/** Of several iterations: what is under way, else what failed, else what is to come. */
function compensationStatus(items: readonly CompensationItem[]): string | undefined {
  const order = ["RUNNING", "RETRYING", "FAILED", "PENDING", "COMPLETED"];
  return order.find((status) => items.some((item) => item.status === status));
}

function changeOf(diff: DefinitionDiff, id: string): Mark | undefined {
  if (diff.added.includes(id)) return "added";
  if (diff.removed.includes(id)) return "removed";
  return diff.changed.some((step) => step.id === id) ? "changed" : undefined;
}
