/** Which iteration of each loop is shown. */

import { iterationsShown } from "../../../core/drawing";
import type { InstanceState, LoopState } from "../../../core/fold";
import { counts } from "../../../core/iterations";
import { indexOf, keyOf } from "../../../core/log";
import type { Plan } from "../../../core/plan";

/** What is looked at: a step, and the path of iterations to it, as the URL has them. */
export interface Looked {
  step: string | null;
  iteration: string;
}

/** The loops around a step, the outermost first. */
export function loopsAround(plan: Plan, step: string): string[] {
  const found: string[] = [];
  for (let loop = plan.nodes.get(step)?.loop ?? null; loop !== null; loop = plan.nodes.get(loop)?.loop ?? null) found.unshift(loop);
  return found;
}

/** By the key of each loop around the selection, the iteration that the selection is in. */
export function pickedBy(plan: Plan, { step, iteration }: Looked): Map<string, number> {
  const picked = new Map<string, number>();
  if (step === null || iteration === "") return picked;
  const parts = iteration.split("/");
  loopsAround(plan, step).forEach((loop, depth) => {
    const index = Number(parts[depth]);
    if (Number.isInteger(index)) picked.set(keyOf(loop, parts.slice(0, depth).join("/")), index);
  });
  return picked;
}

/** The iteration in which a step is shown; of loops that are not looked at, the first that failed, else the newest. */
export function shownIteration(plan: Plan, state: InstanceState, step: string, looked: Looked): string {
  return iterationsShown(plan, { state, picked: pickedBy(plan, looked) }).get(step) ?? "";
}

export interface Strip {
  loop: LoopState;
  title: string;
  /** The path of the iterations around the loop. */
  outside: string;
  /** The index of the iteration whose steps are shown. */
  shown: number;
}

/** The loops whose iterations can be chosen: those of the selection, else those at the top. */
export function stripsOf(plan: Plan, state: InstanceState, looked: Looked): Strip[] {
  const body = (id: string) => plan.nodes.get(id)?.body ?? [];
  const around = looked.step === null ? [] : [...loopsAround(plan, looked.step), ...(body(looked.step).length > 0 ? [looked.step] : [])];
  const loops = around.length > 0 ? around : plan.order.filter((id) => plan.nodes.get(id)?.loop === null && body(id).length > 0);
  if (loops.length === 0) return [];
  const paths = iterationsShown(plan, { state, picked: pickedBy(plan, looked) });
  return loops.flatMap((id) => {
    const outside = paths.get(id) ?? "";
    const loop = state.loops.get(keyOf(id, outside));
    if (loop === undefined || loop.started === 0) return [];
    return [{ loop: counts(plan, state, loop), title: plan.nodes.get(id)?.node.name ?? id, outside, shown: indexOf(paths.get(body(id)[0] ?? "") ?? "0") }];
  });
}
