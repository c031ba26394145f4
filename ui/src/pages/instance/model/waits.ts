/** Open waits, the events that came near, and the event that would fit. */

import { withValue } from "../../../core/form";
import { asArray, asObject, asText, type Json } from "../../../core/json";
import { correctionOf, failedParts } from "../../../core/nearMiss";

export interface NearMiss {
  eventId: string;
  at: string;
  /** The parts of the condition that were false, as the service tells them. */
  failed: Json;
}

export interface OpenWait {
  stepId: string;
  iteration: string;
  armId: string;
  eventPattern: string | null;
  eventCondition: string | null;
  since: string | null;
  timeoutAt: string | null;
  nearMisses: NearMiss[];
  approval: { users: string[]; roles: string[]; formSchema: Json | undefined; escalatedAt: string | null } | null;
}

/** The items of `GET /instances/{id}/waits`. */
export function waitsOf(answer: unknown): OpenWait[] {
  return asArray(asObject(answer)["items"]).map((each) => {
    const wait = asObject(each);
    const approval = wait["approval"] ? asObject(wait["approval"]) : null;
    const names = (value: Json | undefined) => asArray(value).map(String);
    return {
      stepId: asText(wait["stepId"]) ?? "",
      iteration: asText(wait["iteration"]) ?? "",
      armId: asText(wait["armId"]) ?? "",
      eventPattern: asText(wait["eventPattern"]),
      eventCondition: asText(wait["eventCondition"]),
      since: asText(wait["since"]),
      timeoutAt: asText(wait["timeoutAt"]),
      nearMisses: asArray(wait["nearMisses"]).map((near) => {
        const found = asObject(near);
        return { eventId: asText(found["eventId"]) ?? "", at: asText(found["at"]) ?? "", failed: found["failed"] ?? [] };
      }),
      approval:
        approval === null
          ? null
          : { users: names(approval["users"]), roles: names(approval["roles"]), formSchema: approval["formSchema"] ?? undefined, escalatedAt: asText(approval["escalatedAt"]) },
    };
  });
}

export interface Draft {
  payload: Json;
  correlationId: string | null;
}

/**
 * An event with the parts that were false set to what they are compared with, where that is plain from
 * how the condition is written. A suggestion: the dry run of the service says whether it fits.
 */
export function corrected(draft: Draft, failed: Json): Draft {
  let { payload, correlationId } = draft;
  for (const part of failedParts(failed)) {
    const correction = correctionOf(part);
    if (correction !== null) payload = withValue(payload, correction.path, correction.value) ?? payload;
    else if (/^event\.correlationId\b/.test(part.expression)) correlationId = asText(part.right) ?? correlationId;
  }
  return { payload, correlationId };
}

/** Of the near misses of a dry run, the false parts of one wait; null: it is not among them. */
export function missesAt(answer: unknown, instanceId: string, stepId: string, iteration: string): Json | null {
  const found = asArray(asObject(answer)["nearMisses"])
    .map(asObject)
    .find((each) => each["instanceId"] === instanceId && each["stepId"] === stepId && (asText(each["iteration"]) ?? "") === iteration);
  return found === undefined ? null : (found["failed"] ?? []);
}

/** Whether a dry run says that an event would reach a wait. */
export function reaches(answer: unknown, instanceId: string, stepId: string, iteration: string): boolean {
  return asArray(asObject(answer)["targets"])
    .map(asObject)
    .some((each) => each["instanceId"] === instanceId && each["stepId"] === stepId && (asText(each["iteration"]) ?? "") === iteration);
}
