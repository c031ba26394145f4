/** What differs between two JSON values, two definitions, and the contexts of two moments. */

import { graphOf, type GraphNode } from "./graph";
import { asObject, isObject, sameJson, type Json, type JsonObject } from "./json";
import type { InstanceState, Variable } from "./state";

export interface Change {
  /** JSONPath: `$.steps[1].retry.maxAttempts`. */
  path: string;
  kind: "added" | "removed" | "changed";
  before: Json | undefined;
  after: Json | undefined;
}

/** The smallest changes that lead from one value to the other; names in order. */
export function diffJson(before: Json | undefined, after: Json | undefined, path = "$"): Change[] {
  if (sameJson(before, after)) return [];
  if (before === undefined) return [{ path, kind: "added", before, after }];
  if (after === undefined) return [{ path, kind: "removed", before, after }];
  if (isObject(before) && isObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return names.flatMap((name) => diffJson(own(before, name), own(after, name), `${path}${key(name)}`));
  }
  if (Array.isArray(before) && Array.isArray(after)) return diffArrays(before, after, path);
  return [{ path, kind: "changed", before, after }];
}

/** Items that have ids are compared by them; of others, what is equal at both ends is left out. */
function diffArrays(before: Json[], after: Json[], path: string): Change[] {
  const name = ["id", "stepId"].find((each) => haveIds(before, each) && haveIds(after, each));
  if (name) {
    const theirs = new Map(after.map((item, index) => [asObject(item)[name], index]));
    const ours = new Set(before.map((item) => asObject(item)[name]));
    const kept = before.flatMap((item, index) => {
      const place = theirs.get(asObject(item)[name]);
      const there = place === undefined ? undefined : after[place];
      return diffJson(item, there, `${path}[${place ?? index}]`);
    });
    const added = after.flatMap((item, index) =>
      ours.has(asObject(item)[name]) ? [] : diffJson(undefined, item, `${path}[${index}]`),
    );
    return [...kept, ...added];
  }
  let start = 0;
  while (start < before.length && start < after.length && sameJson(before[start], after[start])) start += 1;
  let end = 0;
  while (
    end < before.length - start &&
    end < after.length - start &&
    sameJson(before[before.length - 1 - end], after[after.length - 1 - end])
  ) {
    end += 1;
  }
  const left = before.slice(start, before.length - end);
  const right = after.slice(start, after.length - end);
  const changes: Change[] = [];
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    changes.push(...diffJson(left[index], right[index], `${path}[${start + index}]`));
  }
  return changes;
}

function haveIds(items: Json[], name: string): boolean {
  const ids = items.map((item) => (isObject(item) ? own(item, name) : undefined));
  return ids.every((id) => typeof id === "string") && new Set(ids).size === ids.length;
}

function own(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function key(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

export interface ChangedStep {
  id: string;
  /** Paths are those inside the step: `$.config.retry.maxAttempts`. */
  changes: Change[];
}

export interface DefinitionDiff {
  added: string[];
  removed: string[];
  changed: ChangedStep[];
  /** Ids of edges: `source:handle>target`. */
  addedEdges: string[];
  removedEdges: string[];
  /** What differs beside the steps: options, triggers, compensation. */
  rest: Change[];
}

const DRAWN = new Set(["steps", "nodes", "edges"]);

/** Two definitions, compared by the ids of their steps; forms may differ. */
export function diffDefinitions(before: unknown, after: unknown): DefinitionDiff {
  const [old, now] = [graphOf(before), graphOf(after)];
  const olds = new Map(old.nodes.map((node) => [node.id, node]));
  const news = new Map(now.nodes.map((node) => [node.id, node]));
  const oldEdges = new Set(old.edges.map((edge) => edge.id));
  const newEdges = new Set(now.edges.map((edge) => edge.id));
  const changed = now.nodes.flatMap((node): ChangedStep[] => {
    const was = olds.get(node.id);
    const changes = was ? diffJson(compared(was), compared(node)) : [];
    return changes.length > 0 ? [{ id: node.id, changes }] : [];
  });
  return {
    added: now.nodes.map((node) => node.id).filter((id) => !olds.has(id)),
    removed: old.nodes.map((node) => node.id).filter((id) => !news.has(id)),
    changed,
    addedEdges: [...newEdges].filter((id) => !oldEdges.has(id)),
    removedEdges: [...oldEdges].filter((id) => !newEdges.has(id)),
    rest: diffJson(surroundings(before), surroundings(after)),
  };
}

/** Whether there is any difference but in the drawing. */
export function isSame(diff: DefinitionDiff): boolean {
  return Object.values(diff).every((part: unknown[]) => part.length === 0);
}

function compared({ type, name, description, config }: GraphNode): JsonObject {
  return {
    type,
    ...(name === null ? {} : { name }),
    ...(description === null ? {} : { description }),
    config,
  };
}

/** The top of a document, with the names of the steps form. */
function surroundings(document: unknown): JsonObject {
  const { title, workflowOptions, ...given } = asObject(document);
  const rest: JsonObject = { ...given };
  if (title !== undefined) rest["name"] ??= title;
  if (workflowOptions !== undefined) rest["options"] ??= workflowOptions;
  for (const name of DRAWN) delete rest[name];
  return rest;
}

export interface ContextChange {
  name: string;
  kind: "added" | "removed" | "changed";
  before: Variable | undefined;
  after: Variable | undefined;
  changes: Change[];
}

/** Which variables differ between two moments of one instance. */
export function contextDiff(before: InstanceState, after: InstanceState): ContextChange[] {
  const names = [...new Set([...before.variables.keys(), ...after.variables.keys()])].sort();
  return names.flatMap((name): ContextChange[] => {
    const [old, now] = [before.variables.get(name), after.variables.get(name)];
    if (old === now) return [];
    const changes = diffJson(old?.value, now?.value);
    if (changes.length === 0 && old?.seq === now?.seq) return [];
    const kind = old === undefined ? "added" : now === undefined ? "removed" : "changed";
    return [{ name, kind, before: old, after: now, changes }];
  });
}
