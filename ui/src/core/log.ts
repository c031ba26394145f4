/** Entries of an instance's log, as `GET /api/v1/instances/{id}/history` gives them. */

import type { Json, JsonObject } from "./json";

/** The types that this program knows. An entry of another type is kept, and changes no step. */
export const EVENT_TYPES = [
  "INPUT_SET",
  "SYSTEM_SET",
  "NODE_DISPATCHED",
  "NODE_COMPLETED",
  "NODE_FAILED",
  "NODE_SKIPPED",
  "NODE_CANCELLED",
  "NODE_CANCEL_REQUESTED",
  "RETRY_SCHEDULED",
  "WAIT_OPENED",
  "WAIT_RESOLVED",
  "TIMER_SET",
  "TIMER_FIRED",
  "MUTEX_REQUESTED",
  "MUTEX_GRANTED",
  "ITERATION_STARTED",
  "ITERATION_ENDED",
  "CHILD_STARTED",
  "CHILD_ENDED",
  "PAUSE_REQUESTED",
  "RESUME_REQUESTED",
  "CANCEL_REQUESTED",
  "RETRY_REQUESTED",
  "COMPENSATION_PLANNED",
  "COMPENSATION_DISPATCHED",
  "COMPENSATION_COMPLETED",
  "COMPENSATION_FAILED",
  "COMPENSATION_ENDED",
  "STATUS_CHANGED",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

export interface LogEntry {
  seq: number;
  /** One of `EVENT_TYPES`, or a type of a newer server. */
  eventType: string;
  nodeId: string | null;
  /** "" at the top, "2" in a loop, "2/0" in a loop inside one. */
  iteration: string;
  attempt: number | null;
  nodeStatus: string | null;
  outputVariable: string | null;
  payload: Json;
  errorMessage: string | null;
  /** "2026-11-16T20:31:13.070Z": always three digits, so that moments sort as text. */
  at: string;
}

export interface Failure {
  code: string;
  message: string;
  details: Json;
  retryable: boolean;
  wasDone: boolean;
}

/** A failure with its place, as `lastError` and a step's `error` show it. */
export interface PlacedError {
  code: string;
  message: string;
  stepId: string | null;
  iteration: string;
  attempt: number;
  at: string;
  details?: Json;
}

const KNOWN: ReadonlySet<string> = new Set(EVENT_TYPES);

export function isKnownType(eventType: string): eventType is EventType {
  return KNOWN.has(eventType);
}

/** One activation of a step: "pack", or "pack[2/0]" in an iteration. */
export function keyOf(step: string, iteration: string): string {
  return iteration ? `${step}[${iteration}]` : step;
}

/** The iteration around the loop that `iteration` is one of: "2" for "2/0", "" at the top. */
export function around(iteration: string): string {
  const end = iteration.lastIndexOf("/");
  return end < 0 ? "" : iteration.slice(0, end);
}

/** The number of an iteration within its loop. */
export function indexOf(iteration: string): number {
  return Number(iteration.slice(iteration.lastIndexOf("/") + 1));
}

export function failureOf(payload: JsonObject): Failure {
  const error = payload["error"];
  const given = typeof error === "object" && error !== null && !Array.isArray(error) ? error : {};
  return {
    code: String(given["code"] ?? "UNKNOWN"),
    message: String(given["message"] ?? ""),
    details: given["details"] ?? null,
    retryable: given["retryable"] !== false,
    wasDone: given["wasDone"] === true,
  };
}
