/**
 * The nodes and edges of a definition, whichever form it is written in: steps with transitions,
 * steps with dependencies, or nodes and edges. What a form has that is not known is kept.
 */

import { asArray, asObject, asText, isObject, texts, type Json, type JsonObject } from "./json";

export interface GraphNode {
  id: string;
  /** As the graph form spells it: "task", "eventWait"; a type that is not known as it is written. */
  type: string;
  name: string | null;
  description: string | null;
  /** All settings of the node, without its id, type, transitions and dependencies. */
  config: JsonObject;
  /** Where the author drew it, if the document says. */
  position: { x: number; y: number } | null;
  /** Its place in the document, such as `$.steps[2]`: problems name it. */
  path: string;
}

export interface GraphEdge {
  /** `source:handle>target` */
  id: string;
  source: string;
  target: string;
  /** The way out of the source: `default`, `error`, `timeout`, `loop`, `done`, a branch or an arm. */
  handle: string;
  /** What a person reads beside the edge: a condition, error codes, or the handle; "" for `default`. */
  label: string;
  isError: boolean;
}

/** A compensation step, and the step that it undoes. */
export interface CompensationLink {
  stepId: string;
  compensationFor: string;
  taskId: string | null;
  condition: string | null;
  config: JsonObject;
}

export interface Graph {
  id: string;
  title: string;
  form: "steps" | "dependencies" | "graph";
  nodes: GraphNode[];
  edges: GraphEdge[];
  /** The nodes that a new instance begins with. */
  starts: string[];
  compensations: CompensationLink[];
}

export const NODE_TYPES = [
  "start",
  "end",
  "task",
  "eventWait",
  "condition",
  "delay",
  "loop",
  "javascript",
  "dataQuery",
  "http",
  "subWorkflow",
  "emit",
  "set",
  "terminate",
  "approval",
] as const;
export type NodeType = (typeof NODE_TYPES)[number];

const KNOWN: ReadonlySet<string> = new Set(NODE_TYPES);
const STEP_FIELDS = new Set(["stepId", "type", "transitions", "dependsOn", "name", "description"]);
const ROUTES = new Set(["conditions", "onError"]);

export function isKnownNodeType(type: string): type is NodeType {
  return KNOWN.has(type);
}

const EXECUTED: ReadonlySet<string> = new Set(["task", "javascript", "http", "dataQuery"]);

/** Whether a node's work is done in attempts, by a task or by Tenuto itself. */
export function isExecuted(type: string): boolean {
  return EXECUTED.has(type);
}

/** The graph of a document: of a definition, or of `GET /instances/{id}/graph`. */
export function graphOf(document: unknown): Graph {
  const given = asObject(document);
  const isSteps = Array.isArray(given["steps"]);
  const steps = asArray(given["steps"]).filter(isObject);
  const isDependencies = steps.some((step) => "dependsOn" in step);
  const drawn = isSteps ? fromSteps(steps, isDependencies) : fromNodes(given);
  return {
    id: asText(given["id"]) ?? asText(given["workflowDefinitionId"]) ?? "",
    title: asText(given["title"]) ?? asText(given["name"]) ?? asText(given["id"]) ?? "",
    form: isSteps ? (isDependencies ? "dependencies" : "steps") : "graph",
    ...drawn,
    compensations: asArray(given["compensationSteps"]).filter(isObject).map(compensation),
  };
}

type Drawn = Pick<Graph, "nodes" | "edges" | "starts">;

function fromNodes(document: JsonObject): Drawn {
  const nodes = asArray(document["nodes"]).map((each, index): GraphNode => {
    const node = asObject(each);
    const config = asObject(node["config"]);
    return {
      id: String(node["id"] ?? index),
      type: asText(node["type"]) ?? "unknown",
      name: asText(node["name"]) ?? asText(config["name"]),
      description: asText(node["description"]) ?? asText(config["description"]),
      config,
      position: positionOf(node["position"]),
      path: `$.nodes[${index}]`,
    };
  });
  const known = firstOfEach(nodes);
  const edges = asArray(document["edges"]).map((each) => {
    const edge = asObject(each);
    const source = String(edge["upstreamNodeID"] ?? edge["source"] ?? "");
    const target = String(edge["downstreamNodeID"] ?? edge["target"] ?? "");
    return edgeOf(known.get(source), source, asText(edge["sourceHandle"]) ?? "default", target);
  });
  return finished([...known.values()], edges, null);
}

function fromSteps(steps: JsonObject[], isDependencies: boolean): Drawn {
  const nodes: GraphNode[] = [];
  const edges: GraphEdge[] = [];
  steps.forEach((step, index) => {
    const id = String(step["stepId"] ?? index);
    const transitions = asObject(step["transitions"]);
    const dependencies = texts(asList(step["dependsOn"]));
    const config = settingsOf(step, transitions, dependencies.length);
    const node: GraphNode = {
      id,
      type: typeOf(step["type"]),
      name: asText(step["name"]),
      description: asText(step["description"]),
      config,
      position: null,
      path: `$.steps[${index}]`,
    };
    nodes.push(node);
    const lead = (handle: string, targets: Json | undefined) => {
      for (const target of texts(asList(targets))) edges.push(edgeOf(node, id, handle, target));
    };
    for (const [handle, targets] of Object.entries(transitions)) {
      if (!ROUTES.has(handle)) lead(handle, targets);
    }
    routes(transitions["conditions"], "when").forEach(([handle, route]) => lead(handle, route["to"]));
    routes(transitions["onError"], "onError").forEach(([handle, route]) => lead(handle, route["to"]));
    const timeout = asObject(step["eventTimeout"])["timeoutHandlerStepId"];
    if (timeout !== undefined && !("timeout" in transitions)) lead("timeout", timeout);
    for (const source of dependencies) edges.push(edgeOf(undefined, source, "default", id));
  });
  const first = nodes[0];
  return finished(nodes, edges, isDependencies || !first ? null : [first.id]);
}

/** The nodes, the edges between them, and where an instance begins. */
function finished(nodes: GraphNode[], edges: GraphEdge[], starts: string[] | null): Drawn {
  const known = firstOfEach(nodes);
  const kept = new Map<string, GraphEdge>();
  for (const edge of edges) {
    if (known.has(edge.source) && known.has(edge.target)) kept.set(edge.id, edge);
  }
  const drawn = [...kept.values()];
  return { nodes: [...known.values()], edges: drawn, starts: starts ?? beginnings(nodes, drawn) };
}

function beginnings(nodes: GraphNode[], edges: GraphEdge[]): string[] {
  const start = nodes.find((node) => node.type === "start");
  if (start) return [start.id];
  const targets = new Set(edges.map((edge) => edge.target));
  return nodes.map((node) => node.id).filter((id) => !targets.has(id));
}

function settingsOf(step: JsonObject, transitions: JsonObject, required: number): JsonObject {
  const config: JsonObject = {};
  for (const [name, value] of Object.entries(step)) {
    if (!STEP_FIELDS.has(name)) config[name] = value;
  }
  // The compiler names the handles of routes so.
  for (const [field, prefix] of [
    ["conditions", "when"],
    ["onError", "onError"],
  ] as const) {
    const found = routes(transitions[field], prefix);
    if (found.length > 0) {
      config[field] = found.map(([handle, { to: _, ...route }]) => ({ ...route, handle }));
    }
  }
  // In the dependency form every dependency is required.
  if (required > 0) {
    config["joinMode"] = required === 1 ? "any" : { atLeast: required };
  }
  return config;
}

function routes(value: Json | undefined, prefix: string): [string, JsonObject][] {
  return asArray(value).map((each, index) => [`${prefix}_${index + 1}`, asObject(each)]);
}

function edgeOf(node: GraphNode | undefined, source: string, handle: string, target: string): GraphEdge {
  const config = node?.config ?? {};
  const when = asArray(config["conditions"])
    .map(asObject)
    .find((route) => route["handle"] === handle);
  const onError = asArray(config["onError"])
    .map(asObject)
    .find((route) => route["handle"] === handle);
  const branch = asArray(config["branches"])
    .map(asObject)
    .find((each) => each["id"] === handle);
  let label = handle === "default" ? "" : handle;
  if (when) label = asText(when["when"]) ?? label;
  else if (onError) label = texts(onError["codes"]).join(", ") || label;
  else if (branch) label = asText(branch["when"]) ?? label;
  return {
    id: `${source}:${handle}>${target}`,
    source,
    target,
    handle,
    label,
    isError: handle === "error" || onError !== undefined,
  };
}

function compensation(step: JsonObject): CompensationLink {
  return {
    stepId: String(step["stepId"] ?? ""),
    compensationFor: String(step["compensationFor"] ?? ""),
    taskId: asText(step["taskId"]),
    condition: asText(step["condition"]),
    config: step,
  };
}

/** "EVENT_WAIT" is "eventWait" in the graph form; another spelling stays as it is. */
function typeOf(value: Json | undefined): string {
  const spelled = asText(value);
  if (spelled === null) return "unknown";
  const camel = spelled.toLowerCase().replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return isKnownNodeType(camel) ? camel : spelled;
}

function positionOf(value: Json | undefined): { x: number; y: number } | null {
  const { x, y } = asObject(value);
  return typeof x === "number" && typeof y === "number" ? { x, y } : null;
}

function asList(value: Json | undefined): Json[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

function firstOfEach(nodes: GraphNode[]): Map<string, GraphNode> {
  const known = new Map<string, GraphNode>();
  for (const node of nodes) if (!known.has(node.id)) known.set(node.id, node);
  return known;
}
