/**
 * The state of an instance at one version of its log: a value that only `fold` makes. The server's
 * state forgets ended iterations; this one keeps them, so that a person can look into each.
 */

import { asObject, asText, type Json, type JsonObject } from "./json";
import type { LogEntry, PlacedError } from "./log";

/** How an attempt stands; `held` is done, and completes once the delay that it asked for is over. */
export type AttemptOutcome = "running" | "completed" | "failed" | "lost" | "stopped" | "cancelled" | "held";

/** One try of a step, or of a compensation. */
export interface Attempt {
  number: number;
  /** The entry that ordered it. */
  seq: number;
  /** When it was ordered; it may have been queued afterwards. */
  orderedAt: string;
  endedAt: string | null;
  outcome: AttemptOutcome;
  /** Recorded only where it does not follow from the workflow's input. */
  input: Json | undefined;
  output: Json | undefined;
  error: PlacedError | null;
  retryable: boolean | null;
  /** Milliseconds that it ran, and that it was queued before that, where that is known. */
  executionTime: number | null;
  queueTime: number | null;
  /** The worker that ran it; null: the service itself, or that is not recorded. */
  worker: string | null;
  /** When the next attempt is, or was, due, if one was scheduled after this one. */
  nextAt: string | null;
  childId: string | null;
  /** The entry that ended it. */
  endSeq: number | null;
}

/** A time for which a step was open without running. */
export interface Span {
  kind: "event" | "approval" | "delay" | "back-off" | "held" | "loop";
  attempt: number;
  from: string;
  to: string | null;
  /** When it ends by itself. */
  dueAt: string | null;
  seq: number;
}

export interface WaitArm {
  id: string;
  pattern: string;
}

/** An event wait, as it was opened last. */
export interface Wait {
  pattern: string;
  arms: WaitArm[];
  since: string | null;
  correlationId: string | null;
  /** When the wait's own time-out, and that of its node, end it. */
  timeoutAt: string | null;
  failAt: string | null;
  /** The events that it took. */
  eventIds: string[];
  /** How many further events it needs, once it has taken one of several. */
  remaining: number | null;
}

/** An approval, as it stands. */
export interface ApprovalState {
  users: string[];
  roles: string[];
  reminded: number;
  escalatedAt: string | null;
  escalateTo: { users: string[]; roles: string[] } | null;
}

/** One activation of a step: the step itself, or the step in one iteration of the loops around it. */
export interface Activation {
  key: string;
  step: string;
  iteration: string;
  /** PENDING, RUNNING, WAITING, RETRYING, COMPLETED, FAILED, SKIPPED, CANCELLED, or a newer one. */
  status: string;
  /** The number of the newest attempt; of the one to come where it was re-opened (PENDING). */
  attempt: number;
  /** Attempts that count against the retry budget; attempts lost in a row. */
  failures: number;
  losses: number;
  /** The entries that opened it, changed it last, and hold its output. */
  opened: number;
  changed: number;
  written: number;
  startedAt: string | null;
  dispatchedAt: string | null;
  completedAt: string | null;
  executionTime: number | null;
  queueTime: number | null;
  worker: string | null;
  input: Json | undefined;
  output: Json;
  error: PlacedError | null;
  /** Handles that it took. */
  handles: string[];
  isWait: boolean;
  wait: Wait | null;
  approval: ApprovalState | null;
  /** When a delay, or a retry, is due. */
  dueAt: string | null;
  isLoop: boolean;
  /** Errors of single iterations of a loop that went on in spite of them. */
  errors: Json[];
  /** Until when an attempt that was asked to stop may still report. */
  graceUntil: string | null;
  childId: string | null;
  childVersion: number | null;
  childStatus: string | null;
  /** Every child that it started, the oldest first. */
  children: string[];
  skippedBecause: string | null;
  /** The instance in which it ran, if its outcome was taken over from there. */
  reusedFrom: string | null;
  isWithdrawn: boolean;
  heldBack: string[];
  wasDone: boolean;
  attempts: Attempt[];
  spans: Span[];
}

/** How the incoming edges of a step have arrived. */
export interface Join {
  taken: number;
  dead: number;
  /** Of how many. */
  edges: number;
  /** The entry at which enough had arrived. */
  firedAt: number | null;
  arrivals: { edge: string; from: string; taken: boolean; seq: number }[];
}

export interface LoopState {
  key: string;
  step: string;
  /** How many items it has; null: it goes on while a condition holds. */
  length: number | null;
  /** Those of its source. */
  items: Json[] | null;
  started: number;
  active: number;
  succeeded: number;
  failed: number;
  cancelled: number;
  skipped: number;
  hasEnough: boolean;
  endsAll: boolean;
  /** Forgotten by the server: nothing of it goes on. */
  isOver: boolean;
  /** The entry that opened it. */
  opened: number;
}

export interface Iteration {
  /** The loop and the path, as a key: `loop[2/0]`. */
  key: string;
  loop: string;
  path: string;
  index: number;
  status: "running" | "success" | "error" | "cancelled" | (string & {});
  startedAt: string;
  endedAt: string | null;
  item: Json | undefined;
  output: Json | undefined;
  error: { code: string; message: string; details: Json } | null;
  eventId: string | null;
  from: string | null;
  /** Nothing more in it begins: it failed, or was cancelled. */
  hasFailed: boolean;
  isCancelled: boolean;
  variables: ReadonlyMap<string, Variable>;
  startSeq: number;
  endSeq: number | null;
}

/** A name in the context: "set by `step` at entry `seq`". */
export interface Variable {
  value: Json;
  step: string;
  iteration: string;
  attempt: number;
  seq: number;
  /** Entries that wrote it before. */
  before: number[];
}

export interface CompensationItem {
  key: string;
  /** The compensation step; of a child that undoes itself, the step that is the child. */
  stepId: string;
  compensationFor: string;
  iteration: string;
  status: "PENDING" | "RUNNING" | "RETRYING" | "COMPLETED" | "FAILED";
  attempts: Attempt[];
  spans: Span[];
  error: PlacedError | null;
  dueAt: string | null;
}

export interface Compensation {
  items: CompensationItem[];
  skipped: { stepId: string; reason: string; iteration: string }[];
  startedAt: string;
  completedAt: string | null;
  /** How many items have had their turn. */
  position: number;
  /** The place of the item under way. */
  current: number | null;
  /** Items that were given up, by their place. */
  failed: Map<number, PlacedError>;
}

export interface Cancellation {
  reason: string | null;
  requestedBy: string;
  requestedAt: string;
  source: string;
  shouldCompensate: boolean;
  eventId?: string;
}

export interface Parent {
  id: string;
  node: string;
  iteration: string;
  attempt: number;
  rootId: string;
}

export interface InstanceState {
  id: string;
  /** How many entries have been folded. */
  version: number;
  status: string;
  definitionId: string;
  definitionVersion: number;
  rerunOf: string | null;
  input: Json;
  correlationId: string | null;
  priority: number;
  deadline: string | null;
  parent: Parent | null;
  eventId: string | null;
  /** The tick of a schedule that started it. */
  schedule: { id: string; nominal: string } | null;
  createdAt: string | null;
  updatedAt: string | null;
  startedAt: string | null;
  completedAt: string | null;
  /** By key, in the order in which they began. */
  activations: Map<string, Activation>;
  /** The keys of those that have begun and not ended. */
  open: Set<string>;
  joins: Map<string, Join>;
  /** By the edge's id, with the iteration as keys have it: taken, or dead. */
  edges: Map<string, { taken: boolean; seq: number }>;
  loops: Map<string, LoopState>;
  iterations: Map<string, Iteration>;
  /** Items that events appended to loops, by the key of their iteration to come. */
  added: Map<string, Json>;
  /** By loop over arrivals, the steps whose edges were taken. */
  arrivals: Map<string, string[]>;
  variables: Map<string, Variable>;
  /** What end nodes have collected; undefined: none was reached. */
  output: Json | undefined;
  system: JsonObject;
  pause: { by: string; at: string; reason: string | null; until: string | null } | null;
  ending: { because: "failed" | "cancelled" | "terminated"; status: string; output: Json } | null;
  lastError: PlacedError | null;
  cancellation: Cancellation | null;
  compensation: Compensation | null;
  statuses: { status: string; at: string; seq: number }[];
  /** Entries of types, or about steps, that this program does not know. */
  unknown: LogEntry[];
}

export const OPEN: ReadonlySet<string> = new Set(["RUNNING", "WAITING", "RETRYING"]);
export const FINAL: ReadonlySet<string> = new Set(["COMPLETED", "FAILED", "CANCELLED"]);

/** An instance before its first entry. */
export function blank(id: string): InstanceState {
  return {
    id,
    version: 0,
    status: "CREATED",
    definitionId: "",
    definitionVersion: 0,
    rerunOf: null,
    input: null,
    correlationId: null,
    priority: 0,
    deadline: null,
    parent: null,
    eventId: null,
    schedule: null,
    createdAt: null,
    updatedAt: null,
    startedAt: null,
    completedAt: null,
    activations: new Map(),
    open: new Set(),
    joins: new Map(),
    edges: new Map(),
    loops: new Map(),
    iterations: new Map(),
    added: new Map(),
    arrivals: new Map(),
    variables: new Map(),
    output: undefined,
    system: {},
    pause: null,
    ending: null,
    lastError: null,
    cancellation: null,
    compensation: null,
    statuses: [],
    unknown: [],
  };
}

/** A copy whose maps can be changed; the values in them are shared, and never change. */
export function copied(state: InstanceState): InstanceState {
  return {
    ...state,
    activations: new Map(state.activations),
    open: new Set(state.open),
    joins: new Map(state.joins),
    edges: new Map(state.edges),
    loops: new Map(state.loops),
    iterations: new Map(state.iterations),
    added: new Map(state.added),
    arrivals: new Map(state.arrivals),
    variables: new Map(state.variables),
    statuses: [...state.statuses],
    unknown: [...state.unknown],
  };
}

/** The tick that started an instance, as its log and the service tell it. */
export function scheduleOf(given: unknown): InstanceState["schedule"] {
  const tick = asObject(given);
  const id = asText(tick["id"]);
  return id === null ? null : { id, nominal: asText(tick["nominal"]) ?? "" };
}
