/** What a definition has beside its graph: what starts and ends it, what it calls, and which tasks it needs. */

import { graphOf, type Graph } from "./graph";
import { asArray, asObject, asText, isObject, type Json, type JsonObject } from "./json";

/** A place in a definition that names events. */
export interface EventUse {
  pattern: string;
  does: "starts" | "resumes" | "cancels" | "publishes";
  /** The step that waits or publishes; null: the definition itself. */
  step: string | null;
  condition: string | null;
}

/** A step that calls another workflow. */
export interface WorkflowCall {
  step: string;
  workflow: string;
}

export interface DefinitionFacts {
  graph: Graph;
  events: EventUse[];
  calls: WorkflowCall[];
  tasks: string[];
  inputSchema: Json | undefined;
}

export function factsOf(document: unknown): DefinitionFacts {
  const given = asObject(document);
  const graph = graphOf(document);
  const named = (list: Json | undefined, does: EventUse["does"]) =>
    asArray(list)
      .filter(isObject)
      .flatMap((each) => use(each, does, null));
  return {
    graph,
    events: [
      ...named(given["triggers"], "starts"),
      ...named(given["cancellationTriggers"], "cancels"),
      ...graph.nodes.flatMap(({ id, type, config }) => [
        ...waitsOf(config).flatMap((each) => use(each, "resumes", id)),
        ...(type === "emit" ? use({ eventPattern: config["pattern"] ?? null }, "publishes", id) : []),
      ]),
    ],
    calls: graph.nodes.flatMap(({ id, type, config }) => {
      const workflow = asText(config["workflowId"]);
      return type === "subWorkflow" && workflow !== null ? [{ step: id, workflow }] : [];
    }),
    tasks: [...new Set([...graph.nodes, ...graph.compensations].flatMap(({ config }) => asText(config["taskId"]) ?? []))].sort(),
    inputSchema: given["inputSchema"],
  };
}

function use(settings: JsonObject, does: EventUse["does"], step: string | null): EventUse[] {
  const pattern = asText(settings["eventPattern"]);
  return pattern === null ? [] : [{ pattern, does, step, condition: asText(settings["eventCondition"]) }];
}

/** A wait has a pattern, or arms with one each; a loop may take more items by events. */
function waitsOf(config: JsonObject): JsonObject[] {
  return [config, asObject(config["more"]), ...asArray(config["arms"]).map(asObject)];
}

/** What a step does, in a few words: its task, the event that it waits for. */
export function stepDetail(type: string, config: JsonObject): string {
  switch (type) {
    case "task":
      return asText(config["taskId"]) ?? "";
    case "eventWait": {
      const arms = asArray(config["arms"]).map((arm) => asText(asObject(arm)["eventPattern"]) ?? "");
      return asText(config["eventPattern"]) ?? arms.filter(Boolean).join(" or ");
    }
    case "delay":
      return spelled(config["duration"] ?? config["until"]);
    case "loop":
      return spelled(config["source"] ?? config["while"]);
    case "http":
      return [asText(config["method"]) ?? "GET", asText(config["url"]) ?? ""].join(" ").trim();
    case "subWorkflow":
      return asText(config["workflowId"]) ?? "";
    case "emit":
      return asText(config["pattern"]) ?? "";
    case "dataQuery":
      return asText(config["dataQueryID"]) ?? "";
    case "javascript":
      return firstLine(asText(config["code"]) ?? "");
    default:
      return "";
  }
}

const LONGEST_LINE = 60;

function firstLine(code: string): string {
  const line = code.split("\n").map((each) => each.trim()).find(Boolean) ?? "";
  return line.length <= LONGEST_LINE ? line : `${line.slice(0, LONGEST_LINE)}…`;
}

function spelled(value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The step that a problem's path is about: `$.steps[2].taskId` is the third. */
export function stepAt(graph: Graph, path: string): string | null {
  const found = graph.nodes.find((node) => path === node.path || path.startsWith(`${node.path}.`) || path.startsWith(`${node.path}[`));
  return found?.id ?? null;
}

/** Two versions that are compared: "3..5"; null where the text is none. */
export function readComparison(text: string | null): { from: number; to: number } | null {
  const found = /^(\d{1,9})\.\.(\d{1,9})$/.exec(text ?? "");
  return found === null ? null : { from: Number(found[1]), to: Number(found[2]) };
}
