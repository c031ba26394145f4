/** What an attempt was given. */

import type { Activation, Attempt, InstanceState } from "../../../core/fold";
import { valueAt } from "../../../core/form";
import type { Json } from "../../../core/json";
import type { Plan } from "../../../core/plan";

/**
 * The resolved input of an attempt; undefined where the log does not have it: what follows from the
 * workflow's own input alone is not recorded.
 */
export function resolvedInput(plan: Plan, state: InstanceState, node: Activation, attempt: Attempt | undefined): Json | undefined {
  const recorded = attempt?.input ?? node.input;
  if (recorded !== undefined) return recorded;
  const template = templateOf(plan, node.step);
  return template === undefined ? state.input : plain(template, state.input);
}

const PATH = /^\{\{\s*(?:ctx|workflow)\.input((?:\.[A-Za-z_$][\w$]*|\[\d+\])*)\s*\}\}$/;

/**
 * A template each of whose parts is one value of the workflow's input, looked up; undefined where it computes
 * anything, which only the service does.
 */
function plain(template: Json, input: Json): Json | undefined {
  if (typeof template === "string") {
    if (!template.includes("{{")) return template;
    const path = PATH.exec(template)?.[1];
    if (path === undefined) return undefined;
    return valueAt(input, [...path.matchAll(/\.([\w$]+)|\[(\d+)\]/g)].map((part) => part[1] ?? Number(part[2])));
  }
  if (typeof template !== "object" || template === null) return template;
  const parts = Object.entries(template).map(([name, each]) => [name, plain(each, input)] as const);
  if (parts.some(([, each]) => each === undefined)) return undefined;
  const values = parts as (readonly [string, Json])[];
  return Array.isArray(template) ? values.map(([, each]) => each) : Object.fromEntries(values);
}

/** The `input` as the definition has it. */
export const templateOf = (plan: Plan, step: string): Json | undefined => plan.nodes.get(step)?.node.config["input"];
