/**
 * The state that `GET /instances/{id}` tells, in the shape of the fold: it is shown at once, and stays
 * where the log is too long to be read. It knows no attempts, no iterations and no edges.
 */

import { blank, type Activation, type Compensation, type InstanceState } from "../../../core/fold";
import { asArray, asNumber, asObject, asText, texts, type JsonObject } from "../../../core/json";
import { keyOf, type PlacedError } from "../../../core/log";
import { OPEN, scheduleOf, type Cancellation } from "../../../core/state";

export function snapshotOf(view: unknown): InstanceState {
  const given = asObject(view);
  const told = asObject(given["state"]);
  const state = blank(asText(given["id"]) ?? "");
  state.version = asNumber(given["version"]) ?? 0;
  state.status = asText(given["status"]) ?? "UNKNOWN";
  state.definitionId = asText(given["workflowDefinitionId"]) ?? "";
  state.definitionVersion = asNumber(given["definitionVersion"]) ?? 0;
  state.input = given["input"] ?? null;
  state.correlationId = asText(given["correlationId"]);
  state.priority = asNumber(given["priority"]) ?? 0;
  for (const name of ["rerunOf", "deadline", "createdAt", "updatedAt", "startedAt", "completedAt"] as const) {
    state[name] = asText(given[name]);
  }
  state.schedule = scheduleOf(given["schedule"]);
  const parent = asText(given["parentId"]);
  if (parent !== null) state.parent = { id: parent, node: "", iteration: "", attempt: 1, rootId: asText(given["rootId"]) ?? parent };
  state.lastError = errorOf(given["lastError"]);
  state.cancellation = given["cancellation"] ? (asObject(given["cancellation"]) as unknown as Cancellation) : null;
  state.compensation = compensationOf(given["compensationState"]);
  for (const [name, value] of Object.entries(asObject(told["variables"]))) {
    if (name === "output") state.output = value;
    else state.variables.set(name, { value, step: "", iteration: "", attempt: 0, seq: 0, before: [] });
  }
  for (const [step, value] of Object.entries(asObject(told["steps"]))) {
    const found = asObject(value);
    // What has not begun has no activation.
    if (found["status"] === "PENDING" && asNumber(found["attempts"]) === 0) continue;
    const node = activationOf(step, found);
    state.activations.set(step, node);
    if (OPEN.has(node.status)) state.open.add(step);
  }
  return state;
}

function activationOf(step: string, view: JsonObject): Activation {
  const startedAt = asText(view["startedAt"]);
  return {
    key: keyOf(step, ""),
    step,
    iteration: "",
    status: asText(view["status"]) ?? "UNKNOWN",
    attempt: asNumber(view["attempts"]) ?? 0,
    failures: 0,
    losses: 0,
    opened: 0,
    changed: 0,
    written: 0,
    startedAt,
    dispatchedAt: startedAt,
    completedAt: asText(view["completedAt"]),
    executionTime: asNumber(view["executionTime"]),
    queueTime: asNumber(view["queueTime"]),
    worker: asText(view["worker"]),
    input: undefined,
    output: view["output"] ?? null,
    error: errorOf(view["error"]),
    handles: [],
    isWait: view["status"] === "WAITING",
    wait: null,
    approval: null,
    dueAt: null,
    isLoop: false,
    errors: asArray(view["errors"]),
    graceUntil: null,
    childId: null,
    childVersion: null,
    childStatus: null,
    children: [],
    skippedBecause: null,
    reusedFrom: null,
    isWithdrawn: false,
    heldBack: [],
    wasDone: false,
    attempts: [],
    spans: [],
  };
}

function errorOf(value: unknown): PlacedError | null {
  const error = asObject(value);
  const code = asText(error["code"]);
  if (code === null) return null;
  return {
    code,
    message: asText(error["message"]) ?? "",
    stepId: asText(error["stepId"]),
    iteration: asText(error["iteration"]) ?? "",
    attempt: asNumber(error["attempt"]) ?? 1,
    at: asText(error["at"]) ?? "",
    ...(error["details"] == null ? {} : { details: error["details"] }),
  };
}

function compensationOf(value: unknown): Compensation | null {
  if (!value) return null;
  const view = asObject(value);
  const plan = texts(view["plan"]);
  const done = new Set(texts(view["completed"]));
  const failures = new Map(asArray(view["failed"]).map((each) => [asText(asObject(each)["stepId"]) ?? "", asObject(each)]));
  const failed = new Map<number, PlacedError>();
  const items = plan.map((key, place) => {
    const failure = failures.get(key);
    const error = failure === undefined ? null : { code: "FAILED", message: asText(failure["error"]) ?? "", stepId: key, iteration: "", attempt: 1, at: asText(failure["timestamp"]) ?? "" };
    if (error !== null) failed.set(place, error);
    const status = error !== null ? ("FAILED" as const) : done.has(key) ? ("COMPLETED" as const) : ("PENDING" as const);
    const [, stepId = key, iteration = ""] = /^([^[]+)\[(.*)\]$/.exec(key) ?? [];
    return { key, stepId, compensationFor: "", iteration, status, attempts: [], spans: [], error, dueAt: null };
  });
  return {
    items,
    skipped: [],
    startedAt: asText(view["startedAt"]) ?? "",
    completedAt: asText(view["completedAt"]),
    position: done.size + failed.size,
    current: null,
    failed,
  };
}
