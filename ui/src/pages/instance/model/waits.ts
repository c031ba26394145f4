/** Open waits, and the events that came near. */

import { asArray, asObject, asText, type Json } from "../../../core/json";

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
