/** A folded state with the names that the API gives it: `GET /instances/{id}` and `/context`. */

import { asArray, asObject, asText, type Json, type JsonObject } from "./json";
import { keyOf, type PlacedError } from "./log";
import type { Plan } from "./plan";
import { FINAL, type Activation, type Compensation, type InstanceState } from "./state";

/** So many open activations are not sorted by when they opened. */
const MANY = 100;

/** `state` as `GET /instances/{id}` shows it. */
export function stateView(plan: Plan, state: InstanceState): JsonObject {
  const steps: JsonObject = {};
  for (const [id, planned] of plan.nodes) {
    const node = state.activations.get(id);
    if (node || planned.loop === null) steps[id] = stepView(node);
  }
  const current = currentSteps(state);
  const waits = waitViews(plan, state, false);
  return {
    input: state.input,
    variables: variablesView(state),
    steps,
    currentStepId: current[0] ?? null,
    currentSteps: current,
    waitingForEvent: waits.find((wait) => !("approval" in wait)) ?? null,
    waits,
  };
}

/** A step as `state.steps` shows it. */
export function stepView(node: Activation | undefined): JsonObject {
  if (!node) {
    return { status: "PENDING", output: null, attempts: 0, startedAt: null, completedAt: null };
  }
  const view: JsonObject = {
    status: node.status,
    output: node.output,
    attempts: node.attempt - (node.startedAt === null ? 1 : 0),
    startedAt: node.startedAt,
    completedAt: node.completedAt,
  };
  if (node.executionTime !== null && node.queueTime !== null) {
    view["executionTime"] = node.executionTime;
    view["queueTime"] = node.queueTime;
  }
  if (node.worker !== null) view["worker"] = node.worker;
  if (node.errors.length > 0) view["errors"] = node.errors;
  if (node.error !== null && node.status !== "COMPLETED") view["error"] = errorView(node.error);
  return view;
}

/** The open steps, newest first. */
export function currentSteps(state: InstanceState): string[] {
  const open = openActivations(state);
  if (open.length > MANY) {
    const names = [...new Set(open.map((node) => node.step))].sort();
    const isOutside = (name: string) => state.activations.has(name);
    const opened = (name: string) => state.activations.get(name)?.opened ?? 0;
    const outside = names.filter(isOutside).sort((a, b) => opened(b) - opened(a));
    return [...names.filter((name) => !isOutside(name)), ...outside];
  }
  const newest = open.sort((a, b) => b.opened - a.opened);
  return [...new Set(newest.map((node) => node.step))];
}

export function openActivations(state: InstanceState): Activation[] {
  return [...state.open].map((key) => state.activations.get(key)).filter((node) => node !== undefined);
}

/** The open waits, for events and for decisions, the oldest first. */
export function waitViews(plan: Plan, state: InstanceState, inFull: boolean): JsonObject[] {
  const waiting = openActivations(state)
    .filter((node) => node.isWait)
    .sort((a, b) => a.opened - b.opened);
  return waiting.flatMap((node) => {
    const config = plan.nodes.get(node.step)?.node.config ?? {};
    const timeoutAt = deadlineOf(state, node);
    if (node.approval) {
      const { users, roles, reminded, escalatedAt } = node.approval;
      const formSchema = config["formSchema"] ?? null;
      return [
        {
          stepId: node.step,
          iteration: node.iteration,
          eventPattern: null,
          eventCondition: null,
          since: node.startedAt,
          timeoutAt,
          approval: { users, roles, formSchema, reminders: reminded, escalatedAt },
        },
      ];
    }
    return armsOf(config, node).map((arm) => ({
      stepId: node.step,
      ...(inFull ? { iteration: node.iteration } : {}),
      ...(arm.id ? { armId: arm.id } : {}),
      eventPattern: arm.pattern,
      eventCondition: arm.condition,
      since: node.startedAt,
      ...(inFull ? { timeoutAt } : {}),
    }));
  });
}

function armsOf(config: JsonObject, node: Activation): { id: string; pattern: Json; condition: Json }[] {
  const pattern = asText(config["eventPattern"]);
  if (pattern !== null) {
    return [{ id: "", pattern, condition: config["eventCondition"] ?? null }];
  }
  const arms = asArray(config["arms"]).map(asObject);
  if (arms.length > 0) {
    return arms.map((arm) => ({
      id: asText(arm["id"]) ?? "",
      pattern: arm["eventPattern"] ?? null,
      condition: arm["eventCondition"] ?? null,
    }));
  }
  // Without its definition, what the log says.
  const opened = node.wait?.arms.length ? node.wait.arms : [{ id: "", pattern: node.wait?.pattern ?? "" }];
  return opened.map((arm) => ({ ...arm, condition: null }));
}

/** Until when a wait is open: the earlier of its own time-out and that of its node. */
export function deadlineOf(state: InstanceState, node: Activation): string | null {
  if (FINAL.has(state.status)) return null;
  const ends = [node.wait?.timeoutAt, node.wait?.failAt].filter((each) => each != null);
  return ends.sort()[0] ?? null;
}

/** `ctx`: the input, the variables, and the output once an end node has collected one. */
export function contextView(state: InstanceState): JsonObject {
  return { input: state.input, ...variablesView(state) };
}

function variablesView(state: InstanceState): JsonObject {
  const view: JsonObject = {};
  for (const [name, variable] of state.variables) view[name] = variable.value;
  if (state.output !== undefined) view["output"] = state.output;
  return view;
}

/** What a completed instance gives back; null while it has not. */
export function outputView(plan: Plan, state: InstanceState): Json {
  if (state.status !== "COMPLETED") return null;
  if (state.ending) return state.ending.output;
  if (state.output !== undefined) return state.output;
  const sinks = plan.sinks.flatMap((id): [string, Json][] => {
    const node = state.activations.get(id);
    return node && ["COMPLETED", "FAILED"].includes(node.status) ? [[id, node.output]] : [];
  });
  const only = sinks[0];
  return sinks.length === 1 && only ? only[1] : Object.fromEntries(sinks);
}

export function errorView(error: PlacedError): JsonObject {
  return { ...error };
}

/** `compensationState`. */
export function compensationView(undoing: Compensation | null): Json {
  if (!undoing) return null;
  const { items, position, current, failed, completedAt } = undoing;
  const done = items.slice(0, position).filter((_, place) => !failed.has(place) && place !== current);
  const isWhole = failed.size === 0 && position === items.length;
  const outcome = isWhole ? "COMPLETED" : "COMPLETED_WITH_ERRORS";
  return {
    status: completedAt === null ? "IN_PROGRESS" : outcome,
    startedAt: undoing.startedAt,
    completedAt,
    plan: items.map((item) => item.key),
    completed: done.map((item) => item.key),
    failed: [...failed.keys()]
      .sort((a, b) => a - b)
      .map((place) => ({
        stepId: items[place]?.key ?? "",
        error: failed.get(place)?.message ?? "",
        timestamp: failed.get(place)?.at ?? null,
      })),
  };
}

/** The instance as `GET /instances/{id}` shows it; its tenant is not in the log. */
export function instanceView(plan: Plan, state: InstanceState): JsonObject {
  return {
    id: state.id,
    workflowDefinitionId: state.definitionId,
    definitionVersion: state.definitionVersion,
    status: state.status,
    output: outputView(plan, state),
    lastError: state.lastError && errorView(state.lastError),
    cancellation: state.cancellation && { ...state.cancellation },
    state: stateView(plan, state),
    input: state.input,
    version: state.version,
    correlationId: state.correlationId,
    compensationState: compensationView(state.compensation),
    ...(state.parent ? { parentId: state.parent.id } : {}),
    rootId: state.parent?.rootId ?? state.id,
    priority: state.priority,
    deadline: state.deadline,
    createdAt: state.createdAt,
    updatedAt: state.updatedAt,
    startedAt: state.startedAt,
    completedAt: state.completedAt,
    ...(state.rerunOf === null ? {} : { rerunOf: state.rerunOf }),
    ...(state.schedule === null ? {} : { schedule: state.schedule }),
  };
}

/** Where a step in a loop stands: its activations, by iteration. */
export function activationsOf(state: InstanceState, step: string): Activation[] {
  const only = state.activations.get(keyOf(step, ""));
  if (only) return [only];
  return [...state.activations.values()].filter((node) => node.step === step);
}
