/** Why an instance does not move, as `GET /instances/{id}/explain` says it, and what can be done. */

import { asArray, asObject, asText, type JsonObject } from "./json";

export interface Cause {
  /** event, approval, timer, retry, worker, breaker, running, …, or a kind of a newer server. */
  kind: string;
  message: string;
  stepId: string | null;
  iteration: string;
  since: string | null;
  until: string | null;
  details: JsonObject;
  causes: Cause[];
}

export interface Explanation {
  summary: string;
  causes: Cause[];
}

/** What a page can offer beside the sentence. */
export type Remedy =
  | { kind: "publish"; label: string; pattern: string; correlationId: string | null; cause: Cause }
  | { kind: "decide"; label: string; step: string; iteration: string; cause: Cause }
  | { kind: "resume" | "retry" | "release"; label: string; cause: Cause }
  | { kind: "workers" | "tasks"; label: string; task: string | null; cause: Cause }
  | { kind: "schedule"; label: string; scheduleId: string; cause: Cause }
  | { kind: "child"; label: string; childId: string; cause: Cause }
  | { kind: "queue"; label: string; cause: Cause }
  | { kind: "compensation"; label: string; cause: Cause };

export function explanationOf(view: unknown): Explanation {
  const given = asObject(view);
  return { summary: asText(given["summary"]) ?? "", causes: causesOf(given["causes"]) };
}

function causesOf(value: unknown): Cause[] {
  return asArray(value).map((each) => {
    const cause = asObject(each);
    return {
      kind: asText(cause["kind"]) ?? "unknown",
      message: asText(cause["message"]) ?? "",
      stepId: asText(cause["stepId"]),
      iteration: asText(cause["iteration"]) ?? "",
      since: asText(cause["since"]),
      until: asText(cause["until"]),
      details: asObject(cause["details"]),
      causes: causesOf(cause["causes"]),
    };
  });
}

/** What comes at the moment when a cause ends at the latest. */
export function endWord(kind: string): string {
  switch (kind) {
    case "timer":
    case "working-time":
      return "wakes";
    case "sla":
      return "told";
    case "retry":
      return "due";
    case "breaker":
    case "rate-limit":
      return "tried again";
    case "stopping":
      return "ended";
    default:
      return "times out";
  }
}

/** The remedies, the first one for the first cause: a cause above others comes before them. */
export function remediesOf(explanation: Explanation): Remedy[] {
  const found: Remedy[] = [];
  const visit = (cause: Cause, isInChild: boolean) => {
    const remedy = isInChild ? null : remedyFor(cause);
    if (remedy) found.push(remedy);
    for (const inner of cause.causes) visit(inner, isInChild || cause.kind === "child");
  };
  for (const cause of explanation.causes) visit(cause, false);
  return found;
}

function remedyFor(cause: Cause): Remedy | null {
  const { details, stepId } = cause;
  switch (cause.kind) {
    case "event": {
      const pattern = asText(details["eventPattern"]);
      // A pattern with wildcards names no event that could be sent.
      if (pattern === null || pattern.includes("*")) return null;
      const correlationId = asText(details["correlationId"]);
      return { kind: "publish", label: `Send ${pattern}`, pattern, correlationId, cause };
    }
    case "approval":
      return stepId === null
        ? null
        : { kind: "decide", label: "Decide", step: stepId, iteration: cause.iteration, cause };
    case "paused":
      return { kind: "resume", label: "Resume", cause };
    case "failed":
      return { kind: "retry", label: "Retry failed steps", cause };
    case "quarantined":
      return { kind: "release", label: "Release and retry", cause };
    case "worker":
      return { kind: "workers", label: "See workers", task: asText(details["taskId"]), cause };
    case "breaker":
      // That of a host has no task whose page shows it.
      if (details["target"] !== undefined) return null;
      return { kind: "tasks", label: "See the breaker", task: asText(details["taskId"]), cause };
    case "child": {
      const childId = asText(details["childId"]);
      return childId === null ? null : { kind: "child", label: "Open the child", childId, cause };
    }
    case "slot":
    case "rate-limit":
      // A step that waits for a thread, or for a request of its host, is in no queue of instances.
      return details["position"] === undefined ? null : { kind: "queue", label: "See the queue", cause };
    case "mutex": {
      const holder = asText(asObject(asArray(details["holders"])[0])["instanceId"]);
      return holder === null ? null : { kind: "child", label: "Open the holder", childId: holder, cause };
    }
    case "schedule": {
      const scheduleId = asText(details["scheduleId"]);
      return scheduleId === null ? null : { kind: "schedule", label: "See the schedule", scheduleId, cause };
    }
    case "compensation":
      return { kind: "compensation", label: "See what was undone", cause };
    default:
      return null;
  }
}
