/** What definitions say about the rows of the list: what a step waits on, and words for completion. */

import { graphOf, isKnownNodeType, type GraphNode } from "../../core/graph";
import { asArray, asObject, asText, texts } from "../../core/json";
import type { KnownValues } from "../../core/search";

export interface Definition {
  id: string;
  version: number;
  definition?: unknown;
}

export interface Known {
  words: KnownValues;
  /** By workflow, of its newest version. */
  workflows: ReadonlyMap<string, { version: number; steps: ReadonlyMap<string, string>; hasChildren: boolean }>;
}

export function knownFrom(definitions: readonly Definition[]): Known {
  const steps = new Set<string>();
  const patterns = new Set<string>();
  const variables = new Set<string>();
  const workflows = new Map<string, { version: number; steps: Map<string, string>; hasChildren: boolean }>();
  for (const { id, version, definition } of definitions) {
    const { nodes } = graphOf(definition);
    const waits = new Map<string, string>();
    for (const node of nodes) {
      steps.add(node.id);
      patternsOf(node).forEach((pattern) => patterns.add(pattern));
      const words = waitingOn(node);
      if (words !== null) waits.set(node.id, words);
    }
    for (const name of searchable(definition)) variables.add(name);
    workflows.set(id, { version, steps: waits, hasChildren: nodes.some(startsChildren) });
  }
  const sorted = (set: Set<string>): string[] => [...set].sort();
  return {
    words: { workflow: definitions.map(({ id }) => id), step: sorted(steps), event: sorted(patterns), var: sorted(variables) },
    workflows,
  };
}

/** What an instance at these steps waits on, as far as its definition says. */
export function waitingWords(known: Known, item: { workflowDefinitionId: string; definitionVersion: number; currentSteps: readonly string[] }): string | null {
  const workflow = known.workflows.get(item.workflowDefinitionId);
  // Another version may have other steps under the same names.
  if (workflow === undefined || workflow.version !== item.definitionVersion) return null;
  const words = item.currentSteps.flatMap((step) => workflow.steps.get(step) ?? []);
  return words.length === 0 ? null : [...new Set(words)].join(", ");
}

/** Whether its children can be looked for; without a definition that is not known, and they can. */
export function mayHaveChildren(known: Known, item: { workflowDefinitionId: string; definitionVersion: number }): boolean {
  const workflow = known.workflows.get(item.workflowDefinitionId);
  return workflow === undefined || workflow.version !== item.definitionVersion || workflow.hasChildren;
}

function waitingOn(node: GraphNode): string | null {
  switch (node.type) {
    case "eventWait":
      return patternsOf(node).join(" or ") || "an event";
    case "approval":
      return "a decision";
    case "delay":
      return "a delay";
    case "subWorkflow":
      return `child ${asText(node.config["workflowId"]) ?? "workflow"}`;
    case "task":
      return `task ${asText(node.config["taskId"]) ?? node.id}`;
    case "http":
      return "an HTTP answer";
    case "dataQuery":
      return `query ${asText(node.config["dataQueryID"]) ?? node.id}`;
    case "javascript":
      return "JavaScript code";
    default:
      return null;
  }
}

/** A node that this version does not know may start some, too. */
const startsChildren = (node: GraphNode): boolean => node.type === "subWorkflow" || !isKnownNodeType(node.type);

function patternsOf(node: GraphNode): string[] {
  const own = asText(node.config["eventPattern"]);
  const arms = asArray(node.config["arms"]).flatMap((arm) => asText(asObject(arm)["eventPattern"]) ?? []);
  return [...(own === null ? [] : [own]), ...arms];
}

function searchable(definition: unknown): string[] {
  return texts(asObject(asObject(definition)["options"])["searchable"]);
}
