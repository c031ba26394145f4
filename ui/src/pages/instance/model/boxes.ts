/** The graph of an instance as it is drawn: what the core draws, with how long steps took and what was not reached. */

import { drawn, iterationsShown, kindOf, type Drawn, type DrawnNode } from "../../../core/drawing";
import { duration } from "../../../core/format";
import type { Layout } from "../../../core/layout";
import { keyOf } from "../../../core/log";
import type { Plan } from "../../../core/plan";
import { FINAL, type Activation, type InstanceState } from "../../../core/state";
import { pickedBy, type Looked } from "./iterations";

const MOST_LABEL = 40;

export function drawingOf(plan: Plan, layout: Layout, state: InstanceState, looked: Looked): Drawn {
  const picked = pickedBy(plan, looked);
  const paths = iterationsShown(plan, { state, picked });
  const { boxes, lines, frames } = drawn(plan, layout, { state, picked });
  return {
    boxes: [...boxes.map((box) => finished(shortened(plan, box), state, state.activations.get(keyOf(box.id, paths.get(box.id) ?? "")))), ...strangers(plan, state, layout)],
    lines: lines.map((line) => (line.label !== undefined && line.label.length > MOST_LABEL ? { ...line, label: `${line.label.slice(0, MOST_LABEL - 1)}…` } : line)),
    frames: frames.map((frame) => {
      const loop = state.loops.get(keyOf(frame.id, paths.get(frame.id) ?? ""));
      const inner = paths.get(plan.nodes.get(frame.id)?.body[0] ?? "")?.split("/").at(-1);
      return loop === undefined ? frame : { ...frame, title: `${frame.title}: iteration ${inner ?? "–"}, ${loop.length ?? loop.started} in all` };
    }),
  };
}

/** How a step stands needs the room of what it is about. */
function shortened(plan: Plan, box: DrawnNode): DrawnNode {
  const type = plan.nodes.get(box.id)?.node.type;
  return type === undefined ? box : { ...box, kind: kindOf(type) };
}

function finished(box: DrawnNode, state: InstanceState, node: Activation | undefined): DrawnNode {
  if (box.isUndo === true) return box;
  if (node === undefined) {
    // What an instance that has ended never reached is not pending.
    if (!FINAL.has(state.status)) return box;
    const { status: _, ...rest } = box;
    return { ...rest, detail: "not reached" };
  }
  const parts = [node.skippedBecause === null ? box.detail : (SKIPPED[node.skippedBecause] ?? node.skippedBecause)];
  if (node.reusedFrom !== null) parts.push("taken over");
  else if (node.status !== "SKIPPED" && node.startedAt !== null && node.completedAt !== null) parts.push(duration(Date.parse(node.completedAt) - Date.parse(node.startedAt)));
  const detail = parts.filter(Boolean).join(" · ");
  return detail === "" ? box : { ...box, detail };
}

/** Why a step was skipped, in words. */
export const SKIPPED: Record<string, string> = {
  "dead-path": "way not taken",
  when: "condition was false",
  cancelled: "cancelled before it began",
  enough: "not needed any more",
};

/** Steps that the log names and the definition does not: drawn below, so that nothing is hidden. */
function strangers(plan: Plan, state: InstanceState, layout: Layout): DrawnNode[] {
  const names = new Set([...state.activations.values()].map((node) => node.step).filter((step) => !plan.nodes.has(step)));
  return [...names].map((step, place) => ({
    id: step,
    title: step,
    kind: "unknown step",
    status: state.activations.get(step)?.status ?? "UNKNOWN",
    x: (place % 6) * 210,
    y: layout.height + 48 + Math.floor(place / 6) * 80,
    width: 180,
    height: 56,
    frame: null,
  }));
}

/** How many steps have which status; those in loops count with their loop. */
export function progressOf(plan: Plan, state: InstanceState): { parts: { status: string; count: number }[]; total: number } {
  const counts = new Map<string, number>();
  const steps = plan.order.filter((id) => plan.nodes.get(id)?.loop === null);
  for (const id of steps) {
    const status = state.activations.get(id)?.status ?? "PENDING";
    counts.set(status, (counts.get(status) ?? 0) + 1);
  }
  const order = ["COMPLETED", "FAILED", "RUNNING", "RETRYING", "WAITING", "CANCELLED", "SKIPPED"];
  const rank = (status: string) => (order.includes(status) ? order.indexOf(status) : order.length);
  const parts = [...counts].filter(([status]) => status !== "PENDING").sort(([one], [other]) => rank(one) - rank(other));
  return { parts: parts.map(([status, number]) => ({ status, count: number })), total: steps.length };
}
