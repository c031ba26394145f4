/**
 * The event that a wait takes, as far as its condition says it: for a form that sends it. Terms such
 * as `event.payload.orderId === workflow.input.orderId`, joined by `&&`, give values; others are named.
 */

import { withValue } from "./form";
import { asObject, asText, isObject, type Json, type JsonObject } from "./json";
import { correctionOf, failedParts } from "./nearMiss";
import type { InstanceState } from "./state";
import { contextView } from "./view";

export interface EventDraft {
  pattern: string;
  payload: JsonObject;
  /** Terms of the condition that give no value: a person has to see to them. */
  open: string[];
}

const PATH = String.raw`[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)*`;
const TERM = new RegExp(String.raw`^(.+?)\s*===?\s*(.+)$`, "s");
const OF_EVENT = new RegExp(String.raw`^event\??\.payload\??\.(${PATH})$`);

export function draftEvent(pattern: string, condition: string | null, state: InstanceState): EventDraft {
  const draft: EventDraft = { pattern, payload: {}, open: [] };
  for (const term of (condition ?? "").split("&&").map(unwrapped)) {
    if (term === "") continue;
    const sides = TERM.exec(term)?.slice(1, 3).map(unwrapped) ?? [];
    const place = sides.map((side) => OF_EVENT.exec(side)?.[1]);
    const index = place.findIndex((path) => path !== undefined);
    const path = place[index];
    const value = path === undefined ? undefined : valueOf(sides[1 - index] as string, state);
    if (path === undefined || value === undefined) draft.open.push(term);
    else if (!path.includes("__proto__")) draft.payload = asObject(withValue(draft.payload, path.replaceAll("?.", ".").split("."), value));
  }
  return draft;
}

export interface SentEvent {
  payload: Json;
  correlationId: string | null;
}

/**
 * An event with the parts that were false set to what they are compared with, where that is plain from
 * how the condition is written. A suggestion: the dry run of the service says whether it fits.
 */
export function corrected(event: SentEvent, failed: Json): SentEvent {
  let { payload, correlationId } = event;
  for (const part of failedParts(failed)) {
    const correction = correctionOf(part);
    if (correction !== null) payload = withValue(payload, correction.path, correction.value) ?? payload;
    else if (/^event\.correlationId\b/.test(part.expression)) correlationId = asText(part.right) ?? correlationId;
  }
  return { payload, correlationId };
}

/** Without white space and parentheses around it. */
function unwrapped(text: string): string {
  let inner = text.trim();
  while (inner.startsWith("(") && inner.endsWith(")") && isBalanced(inner.slice(1, -1))) {
    inner = inner.slice(1, -1).trim();
  }
  return inner;
}

function isBalanced(text: string): boolean {
  let depth = 0;
  for (const letter of text) {
    if (letter === "(") depth += 1;
    if (letter === ")") depth -= 1;
    if (depth < 0) return false;
  }
  return depth === 0;
}

/** A literal, or a value of the instance at a plain path; undefined: it is neither. */
function valueOf(side: string, state: InstanceState): Json | undefined {
  if (/^'[^'\\]*'$/.test(side)) return side.slice(1, -1);
  if (/^("(?:[^"\\]|\\.)*"|-?\d+(\.\d+)?|true|false|null)$/.test(side)) return parsed(side);
  if (!new RegExp(`^${PATH}$`).test(side)) return undefined;
  const [root, ...path] = side.replaceAll("?.", ".").split(".");
  if (root === "ctx") return at(contextView(state), path);
  if (root === "workflow" && path[0] === "input") return at(state.input, path.slice(1));
  if (root === "workflow" && path.join(".") === "instance.id") return state.id;
  if (root === "steps" && path[1] === "output")
    return at(state.activations.get(path[0] as string)?.output, path.slice(2));
  return undefined;
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

function at(value: Json | undefined, path: readonly string[]): Json | undefined {
  let found = value;
  for (const name of path) found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  return found;
}
