/** An action over many instances: which it reaches, and what must be said before it begins. */

import type { Shape } from "../../api/types";
import { bulkFilter, type InstanceParams } from "../../core/search";

export type BulkAction = Shape<"BulkRequest">["action"];
export type InstanceFilter = Shape<"InstanceFilter">;
type Status = Shape<"InstanceItem">["status"];

export type Scope = { kind: "filter"; params: InstanceParams } | { kind: "ids"; ids: readonly string[] };

export interface ActionWords {
  verb: string;
  /** What it does, in a sentence. */
  about: string;
  statuses: readonly Status[];
  isDanger: boolean;
}

const OPEN: readonly Status[] = ["CREATED", "RUNNING", "WAITING_FOR_EVENT", "PAUSED"];

export const ACTIONS: Record<BulkAction, ActionWords> = {
  retry: { verb: "Retry", about: "Each continues from the steps that failed; finished steps are kept.", statuses: ["FAILED"], isDanger: false },
  pause: { verb: "Pause", about: "Running tasks end; no further step begins until it is resumed.", statuses: OPEN.filter((each) => each !== "PAUSED"), isDanger: false },
  resume: { verb: "Resume", about: "Each continues where it was paused.", statuses: ["PAUSED"], isDanger: false },
  cancel: { verb: "Cancel", about: "Each ends as cancelled. This cannot be undone.", statuses: OPEN, isDanger: true },
};

export const MOST_IDS = 1_000;
/** Above so many the number must be typed. */
export const TYPED_ABOVE = 50;

export interface Reach {
  /** What lists them, for examples; null: the action applies to none of them. */
  params: InstanceParams | null;
  /** What the operation is asked for; null: it cannot filter so, and the ids must be listed first. */
  filter: InstanceFilter | null;
}

/** What an action reaches: of the filter those in whose status it is possible. */
export function reachOf(action: BulkAction, scope: Scope): Reach {
  const { statuses } = ACTIONS[action];
  const given: InstanceParams = scope.kind === "ids" ? { ids: scope.ids.join(",") } : scope.params;
  const asked = given.status?.split(",");
  const possible = statuses.filter((each) => asked === undefined || asked.includes(each));
  if (possible.length === 0) return { params: null, filter: null };
  const params = { ...given, status: possible.join(",") };
  const { filter, lacks } = bulkFilter(params);
  return { params, filter: lacks.length > 0 ? null : (filter as InstanceFilter) };
}

/** Whether it may begin: a large number is typed, so that it was read. */
export const isConfirmed = (count: number, typed: string): boolean => count <= TYPED_ABOVE || typed.replace(/[\s,.]/g, "") === String(count);
