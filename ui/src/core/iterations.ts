/**
 * Where the iterations of a loop stand, also of one that ended before they did. A loop that ends with its instance keeps the
 * iterations that were under way, since a retry goes on with them: no entry says that they ended.
 */

import { around, keyOf } from "./log";
import type { Plan } from "./plan";
import type { InstanceState, Iteration, LoopState } from "./state";

/** An iteration as it is shown: with the outcome that follows from its steps where no entry has it. */
export function settled(plan: Plan, state: InstanceState, iteration: Iteration): Iteration {
  const loop = state.activations.get(keyOf(iteration.loop, around(iteration.path)));
  if (iteration.status !== "running") return iteration;
  if (iteration.hasFailed) return { ...iteration, status: "error" };
  if (loop === undefined || state.open.has(loop.key)) return iteration;
  const inside = (plan.nodes.get(iteration.loop)?.body ?? []).map((id) => state.activations.get(keyOf(id, iteration.path)));
  const failed = inside.find((node) => node?.status === "FAILED");
  const endedAt = failed?.completedAt ?? loop.completedAt;
  if (failed !== undefined || isAroundTheError(plan, state, iteration)) return { ...iteration, status: "error", endedAt };
  return isOpenIn(plan, state, iteration.loop, iteration.path) ? iteration : { ...iteration, status: "cancelled", endedAt };
}

/** A loop with the counts of `settled` iterations. */
export function counts(plan: Plan, state: InstanceState, loop: LoopState): LoopState {
  if (loop.active === 0 || state.open.has(loop.key)) return loop;
  const outside = state.activations.get(loop.key)?.iteration ?? "";
  const found = { ...loop };
  let left = loop.active;
  for (let index = loop.started - 1; index >= 0 && left > 0; index -= 1) {
    const known = state.iterations.get(keyOf(loop.step, outside ? `${outside}/${index}` : String(index)));
    if (known?.status !== "running") continue;
    left -= 1;
    if (settled(plan, state, known).status !== "error") continue;
    found.failed += 1;
    found.active -= 1;
  }
  return found;
}

/** Whether a step is open in an iteration, or in an iteration of a loop in it. */
function isOpenIn(plan: Plan, state: InstanceState, loop: string, path: string): boolean {
  return (plan.nodes.get(loop)?.body ?? []).some((id) => {
    const key = keyOf(id, path);
    if (state.open.has(key)) return true;
    for (let index = 0; index < (state.loops.get(key)?.started ?? 0); index += 1) {
      const inner = state.iterations.get(keyOf(id, `${path}/${index}`));
      if (inner?.status === "running" && isOpenIn(plan, state, id, inner.path)) return true;
    }
    return false;
  });
}

/** Whether the error that the instance failed with is of a step in an inner loop. */
function isAroundTheError(plan: Plan, state: InstanceState, iteration: Iteration): boolean {
  let loop = plan.nodes.get(state.lastError?.stepId ?? "")?.loop ?? null;
  for (let path = state.lastError?.iteration ?? ""; loop !== null && path !== ""; path = around(path)) {
    if (loop === iteration.loop && path === iteration.path) return true;
    loop = plan.nodes.get(loop)?.loop ?? null;
  }
  return false;
}
