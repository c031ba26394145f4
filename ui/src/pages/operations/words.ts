/** What a bulk operation does and how far it is, in words. */

import type { Shape } from "../../api/types";
import { count, counted, duration } from "../../core/format";

export type Operation = Shape<"BulkView">;

const DOING: Record<Operation["action"], string> = { backfill: "Backfill", cancel: "Cancel", discard: "Discard", pause: "Pause", resume: "Resume", retry: "Retry" };

export const titleOf = ({ action, target }: Pick<Operation, "action" | "target">): string => `${DOING[action] ?? action} ${TARGETS[target] ?? target}`;
const TARGETS: Record<Operation["target"], string> = { "dead-letters": "dead letters", instances: "instances", ticks: "ticks of a schedule" };

export const hrefOf = ({ id }: Pick<Operation, "id">): string => `/operations/${encodeURIComponent(id ?? "")}`;

/** As a status that the kit knows. */
export const statusOf = ({ status, failed }: Pick<Operation, "status" | "failed">): string =>
  status === "done" ? (failed > 0 ? "COMPLETED_WITH_ERRORS" : "COMPLETED") : status.toUpperCase();

/** How many there are in all: as they were counted before it began, or as they were found. */
export function totalOf({ status, matched }: Pick<Operation, "status" | "matched">, counted: number | null): number | null {
  if (status !== "running") return matched;
  // Those found so far are no more than a part, until all are found.
  return counted === null ? null : Math.max(counted, matched);
}

export interface Pace {
  /** Items a second. */
  rate: number;
  leftMs: number | null;
}

/** How fast it is, and how long it takes to go on so. */
export function paceOf({ done, failed, createdAt, endedAt }: Pick<Operation, "done" | "failed" | "createdAt" | "endedAt">, total: number | null, now: number): Pace | null {
  const began = Date.parse(createdAt ?? "");
  const seconds = ((endedAt === null || endedAt === undefined ? now : Date.parse(endedAt)) - began) / 1_000;
  const handled = done + failed;
  if (!(seconds > 0) || handled === 0) return null;
  const rate = handled / seconds;
  return { rate, leftMs: total === null || endedAt ? null : (Math.max(total - handled, 0) / rate) * 1_000 };
}

/** "412 of 1,284, 85/s, about 10 s left". */
export function progressWords(operation: Operation, total: number | null, pace: Pace | null): string {
  const handled = operation.done + operation.failed;
  const far = total === null ? counted(handled, "record") : `${count(handled)} of ${count(total)}`;
  const fast = pace === null ? null : `${pace.rate >= 10 ? Math.round(pace.rate) : pace.rate.toFixed(1)}/s`;
  const left = pace?.leftMs === null || pace === null || operation.status !== "running" ? null : `about ${duration(pace.leftMs)} left`;
  return [far, fast, left].filter((part) => part !== null).join(", ");
}

/** What its end means, or that it goes on. */
export function aboutWords({ status, failed, stoppedBy }: Pick<Operation, "status" | "failed" | "stoppedBy">): string {
  const by = stoppedBy == null ? "" : ` by ${stoppedBy}`;
  if (status === "running") return stoppedBy == null ? "It goes on in the service, also while this page is closed." : `It is being stopped${by}: what is under way is still done.`;
  if (status === "cancelled") return `It was stopped${by}: what was done stays done.`;
  return failed === 0 ? "Everything that was matched is done." : "What failed is listed below, with the reason of each.";
}
