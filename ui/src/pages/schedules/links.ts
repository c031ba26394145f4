import type { Shape } from "../../api/types";
import { asObject, asText } from "../../core/json";
import { path } from "../../core/url";

export type Schedule = Shape<"SavedSchedule">;
export type TickRecord = Shape<"TickRecord">;

export const scheduleHref = (id: string): string => path("schedules", id);

/** What a schedule starts, in words and as a link where it has a page. */
export function targetOf({ target }: Pick<Schedule, "target">): { kind: string; name: string; href: string | null } {
  const given = asObject(target);
  const workflow = asText(given["workflowId"]);
  const task = asText(given["taskId"]);
  if (workflow !== null) return { kind: "workflow", name: workflow, href: path("workflows", workflow) };
  if (task !== null) return { kind: "task", name: task, href: `/tasks?task=${encodeURIComponent(task)}` };
  return { kind: "callback", name: asText(given["callbackUrl"]) ?? "unknown", href: null };
}
