/**
 * The input of an attempt beside the template that it was made from. The log has it where it depends
 * on other steps; where it follows from the workflow's input alone, it is worked out here again.
 */

import type { GraphNode } from "./graph";
import { isObject, type Json } from "./json";
import type { Plan } from "./plan";
import type { Activation, Attempt, InstanceState } from "./state";

export interface StepInput {
  /** As the definition has it; undefined: the step names none, and gets the workflow's input. */
  template: Json | undefined;
  /** undefined: it is not recorded, and cannot be worked out here. */
  value: Json | undefined;
  from: "log" | "workflow input" | "template" | "unknown";
}

const WHOLE = /^\{\{([^{}]*)\}\}$/;
const PART = /\{\{([^{}]*)\}\}/g;
const PATH = /^\s*(?:ctx|workflow)\??\.input((?:\??\.[A-Za-z_$][\w$]*|\[\d+\]|\["[^"\\]*"\]|\['[^'\\]*'\])*)\s*$/;

export function inputOf(plan: Plan, state: InstanceState, node: Activation, attempt?: Attempt): StepInput {
  const template = templateOf(plan.nodes.get(node.step)?.node);
  const recorded = attempt?.input ?? node.input;
  if (recorded !== undefined) return { template, value: recorded, from: "log" };
  if (template === undefined) return { template, value: state.input, from: "workflow input" };
  const value = resolved(template, state.input);
  return { template, value, from: value === undefined ? "unknown" : "template" };
}

/** What a step is given, as the definition writes it; undefined: the workflow's input. */
function templateOf(node: GraphNode | undefined): Json | undefined {
  const config = node?.config ?? {};
  switch (node?.type) {
    case "http": {
      const sent = ["headers", "query", "body", "auth"].filter((name) => config[name] !== undefined && config[name] !== null);
      return { method: config["method"] ?? "GET", url: config["url"] ?? null, ...Object.fromEntries(sent.map((name) => [name, config[name] as Json])) };
    }
    case "dataQuery":
      return config["args"] ?? {};
    default:
      return Object.hasOwn(config, "input") ? config["input"] : undefined;
  }
}

/** A template with the workflow's input in it; undefined where it names anything else. */
export function resolved(template: Json, input: Json): Json | undefined {
  if (typeof template === "string") return resolvedText(template, input);
  if (Array.isArray(template)) {
    const items = template.map((each) => resolved(each, input));
    return items.includes(undefined) ? undefined : (items as Json[]);
  }
  if (isObject(template)) {
    const entries = Object.entries(template).map(([name, each]) => [name, resolved(each, input)] as const);
    if (entries.some(([, value]) => value === undefined)) return undefined;
    return Object.fromEntries(entries as [string, Json][]);
  }
  return template;
}

function resolvedText(text: string, input: Json): Json | undefined {
  const whole = WHOLE.exec(text);
  if (whole) return valueAt(whole[1] as string, input);
  let isKnown = !text.replace(PART, "").includes("{{");
  const made = text.replace(PART, (_, path: string) => {
    const value = valueAt(path, input);
    if (value === undefined) isKnown = false;
    return typeof value === "string" ? value : JSON.stringify(value ?? null);
  });
  return isKnown ? made : undefined;
}

function valueAt(path: string, input: Json): Json | undefined {
  const parts = PATH.exec(path)?.[1];
  if (parts === undefined) return undefined;
  let found: Json | undefined = input;
  for (const [, name, index, quoted, single] of parts.matchAll(
    /\??\.([\w$]+)|\[(\d+)\]|\["([^"]*)"\]|\['([^']*)'\]/g,
  )) {
    if (index !== undefined) found = Array.isArray(found) ? found[Number(index)] : undefined;
    else {
      const key = (name ?? quoted ?? single) as string;
      found = isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
    }
  }
  return found;
}
