/** Rows and segments of an instance over time, and a scale that shortens idle gaps. */

import { shortId } from "./ids";
import { counts, settled } from "./iterations";
import { keyOf } from "./log";
import type { Plan } from "./plan";
import type { Activation, Attempt, InstanceState, Iteration, LoopState, Span } from "./state";

export type SegmentKind =
  | "queued"
  | "running"
  | "child"
  | "back-off"
  | "event"
  | "approval"
  | "delay"
  | "held"
  | "loop"
  | "paused"
  | "compensating";

export interface Segment {
  kind: SegmentKind;
  /** Milliseconds since 1970. */
  from: number;
  to: number;
  /** It goes on: `to` is now. */
  isOpen: boolean;
  attempt: number;
  /** How an attempt ended; null for other times. */
  outcome: Attempt["outcome"] | null;
  childId: string | null;
  /** The log entry with which it begins. */
  seq: number;
}

export interface Row {
  /** Unique among all rows: the key of the activation, iteration or compensation (`undo …`), after the places of the children around it. */
  key: string;
  kind: "step" | "iteration" | "child" | "compensation" | "instance";
  /** The child that it belongs to; null: the instance itself. */
  instanceId: string | null;
  step: string;
  iteration: string;
  title: string;
  status: string;
  /** How many loops, iterations and children are around it. */
  depth: number;
  /** Whether what is inside stands below; null: there is nothing inside. */
  isOpen: boolean | null;
  /** The newest instance that the step started. */
  childId: string | null;
  segments: Segment[];
}

/** An instance that a step started, as far as it was read; `note` says what its rows lack. */
export type ChildTimeline = { plan: Plan; state: InstanceState; note: string | null } | { problem: string } | "reading";

export interface TimelineOptions {
  /** Milliseconds since 1970: where open segments end. */
  now: number;
  order?: "graph" | "start";
  /** By the key of a loop, the index of the iteration whose steps are shown. */
  picked?: ReadonlyMap<string, number>;
  /** By the key of a row, whether the viewer opened or closed it. */
  toggled?: ReadonlyMap<string, boolean>;
  children?: ReadonlyMap<string, ChildTimeline>;
}

/** A loop of so few iterations is open until it is closed. */
const FEW = 12;

/** One row for each step that has begun, for each iteration and child that is open, and for each compensation. */
export function rowsOf(plan: Plan, state: InstanceState, options: TimelineOptions): Row[] {
  return new Rows(options, new Set([state.id])).of({ plan, state, instanceId: null, prefix: "" }, 0);
}

/** An instance whose rows are made, and what is written before their keys. */
interface Place {
  plan: Plan;
  state: InstanceState;
  instanceId: string | null;
  prefix: string;
}

class Rows {
  private readonly rows: Row[] = [];
  private readonly options: TimelineOptions;
  /** Instances around: a child never holds one of them, and a wrong log shall not go round. */
  private readonly around: ReadonlySet<string>;

  constructor(options: TimelineOptions, around: ReadonlySet<string>) {
    this.options = options;
    this.around = around;
  }

  of(place: Place, depth: number): Row[] {
    const { state } = place;
    const pauses = pausesOf(state, this.options.now);
    if (pauses.length > 0) this.add(place, { key: "instance", kind: "instance", title: "instance", status: state.status, depth, segments: pauses });
    this.level(place, null, "", depth);
    for (const item of state.compensation?.items ?? []) {
      if (item.attempts.length === 0 && item.status === "PENDING") continue;
      const segments = segmentsOf(item.attempts, item.spans, this.options.now, "compensating");
      this.add(place, { key: `undo ${item.key}`, kind: "compensation", step: item.stepId, iteration: item.iteration, title: item.stepId, status: item.status, depth, segments });
    }
    return this.rows;
  }

  private add(place: Place, row: Partial<Row> & Pick<Row, "key" | "kind" | "title" | "status" | "depth">): void {
    this.rows.push({ instanceId: place.instanceId, step: "", iteration: "", isOpen: null, childId: null, segments: [], ...row, key: place.prefix + row.key });
  }

  private isOpen(place: Place, key: string, byDefault: boolean): boolean {
    return this.options.toggled?.get(place.prefix + key) ?? byDefault;
  }

  /** The steps of the instance, or of one iteration of a loop. */
  private level(place: Place, loop: string | null, iteration: string, depth: number): void {
    const { plan, state } = place;
    const ids = loop === null ? plan.order.filter((id) => !plan.nodes.get(id)?.loop) : (plan.nodes.get(loop)?.body ?? []);
    const found = ids
      .map((id) => state.activations.get(keyOf(id, iteration)))
      .filter((node): node is Activation => node !== undefined && node.startedAt !== null);
    if (this.options.order === "start") found.sort((a, b) => a.opened - b.opened);
    for (const node of found) {
      const looped = node.isLoop ? state.loops.get(node.key) : undefined;
      const childId = node.children.at(-1) ?? null;
      const isPicked = place.instanceId === null && this.options.picked?.has(node.key) === true;
      const isOpen = looped && looped.started > 0 ? this.isOpen(place, node.key, isPicked || looped.started <= FEW) : childId !== null ? this.isOpen(place, node.key, false) : null;
      const name = plan.nodes.get(node.step)?.node.name ?? node.step;
      this.add(place, {
        key: node.key,
        kind: "step",
        step: node.step,
        iteration: node.iteration,
        title: looped ? `${name}, ${counted(counts(plan, state, looped))}` : name,
        status: node.status,
        depth,
        isOpen,
        childId,
        segments: segmentsOf(node.attempts, node.spans, this.options.now, "running", node),
      });
      if (isOpen !== true) continue;
      if (looped) this.iterations(place, looped, iteration, depth + 1);
      else node.children.forEach((child) => this.child(place, node.key, child, depth + 1));
    }
  }

  private iterations(place: Place, loop: LoopState, outside: string, depth: number): void {
    const { plan, state } = place;
    const picked = place.instanceId === null ? this.options.picked?.get(loop.key) : undefined;
    const shown = picked ?? pickIteration(plan, state, loop.key)?.index;
    for (let index = 0; index < loop.started; index += 1) {
      const path = outside ? `${outside}/${index}` : String(index);
      const known = state.iterations.get(keyOf(loop.step, path));
      if (known === undefined) continue;
      const found = settled(plan, state, known);
      const key = `iteration ${found.key}`;
      const isOpen = this.isOpen(place, key, index === shown);
      this.add(place, { key, kind: "iteration", step: loop.step, iteration: path, title: `iteration ${path}`, status: ITERATED[found.status] ?? found.status, depth, isOpen, segments: [spanOf(found, this.options.now)] });
      if (isOpen) this.level(place, loop.step, path, depth + 1);
    }
  }

  private child(place: Place, key: string, childId: string, depth: number): void {
    const found = this.options.children?.get(childId);
    const prefix = `${place.prefix}${key} > ${childId} > `;
    const head = (title: string, status = "") => this.add(place, { key: `${key} > ${childId}`, kind: "child", title, status, depth, childId });
    if (this.around.has(childId) || found === undefined || found === "reading") return head(`${shortId(childId)}: reading its log…`);
    if ("problem" in found) return head(`${shortId(childId)}: ${found.problem}`);
    const { plan, state, note } = found;
    head(`${state.definitionId} ${shortId(childId)}${note === null ? "" : `, ${note}`}`, state.status);
    for (const row of new Rows(this.options, new Set([...this.around, childId])).of({ plan, state, instanceId: childId, prefix }, depth + 1)) this.rows.push(row);
  }
}

/** How an iteration stands, in the words of steps. */
const ITERATED: Record<string, string> = { running: "RUNNING", success: "COMPLETED", error: "FAILED", cancelled: "CANCELLED" };
const OUTCOMES: Record<string, Attempt["outcome"]> = { success: "completed", error: "failed", cancelled: "cancelled" };

function counted({ started, length, failed }: LoopState): string {
  const all = length === null || length === started ? `${started}` : `${started} of ${length}`;
  return `${all} iteration${all === "1" ? "" : "s"}${failed > 0 ? `, ${failed} failed` : ""}`;
}

function spanOf({ startedAt, endedAt, status, startSeq }: Iteration, now: number): Segment {
  const from = Date.parse(startedAt);
  const to = Math.max(from, endedAt === null ? now : Date.parse(endedAt));
  return { kind: "loop", from, to, isOpen: endedAt === null, attempt: 0, outcome: OUTCOMES[status] ?? null, childId: null, seq: startSeq };
}

/** The row in which something began last: of those under way, else of all. -1: there is none. */
export function newestRow(rows: readonly Row[]): number {
  let [place, newest] = [-1, Number.NEGATIVE_INFINITY];
  for (const [index, row] of rows.entries()) {
    for (const each of row.segments) {
      // What goes on is newer than everything that has ended.
      const since = each.from + (each.isOpen ? 1e15 : 0);
      if (since >= newest) [place, newest] = [index, since];
    }
  }
  return place;
}

/** The iteration that a person wants to see first: the first that failed, else the newest. */
export function pickIteration(plan: Plan, state: InstanceState, loop: string): Iteration | undefined {
  const stored = state.loops.get(loop);
  const known = stored && counts(plan, state, stored);
  const outside = state.activations.get(loop)?.iteration ?? "";
  const at = (index: number) => {
    const path = outside ? `${outside}/${index}` : String(index);
    const found = known && state.iterations.get(keyOf(known.step, path));
    return found && settled(plan, state, found);
  };
  for (let index = 0; known && known.failed > 0 && index < known.started; index += 1) {
    const found = at(index);
    if (found?.status === "error") return found;
  }
  return known && at(known.started - 1);
}

function segmentsOf(
  attempts: readonly Attempt[],
  spans: readonly Span[],
  now: number,
  kind: SegmentKind,
  node?: Activation,
): Segment[] {
  const segments: Segment[] = [];
  for (const attempt of attempts) {
    const ordered = Date.parse(attempt.orderedAt);
    const isOpen = attempt.endedAt === null;
    const to = Math.max(ordered, isOpen ? now : Date.parse(attempt.endedAt as string));
    const shared = { attempt: attempt.number, childId: attempt.childId, seq: attempt.seq };
    // It was queued until it ran for as long as it reported.
    const ran = attempt.executionTime;
    const began = ran === null ? ordered : Math.min(Math.max(ordered, to - ran), to);
    if (began > ordered) {
      segments.push({ ...shared, kind: "queued", from: ordered, to: began, isOpen: false, outcome: null });
    }
    const runs = attempt.childId === null ? kind : "child";
    segments.push({ ...shared, kind: runs, from: began, to, isOpen, outcome: attempt.outcome });
  }
  for (const span of spans) {
    const from = Date.parse(span.from);
    const isOpen = span.to === null;
    segments.push({
      kind: span.kind,
      from,
      to: Math.max(from, isOpen ? now : Date.parse(span.to as string)),
      isOpen,
      attempt: span.attempt,
      outcome: null,
      childId: null,
      seq: span.seq,
    });
  }
  if (segments.length === 0 && node?.startedAt) {
    const from = Date.parse(node.startedAt);
    const to = node.completedAt === null ? now : Date.parse(node.completedAt);
    const outcome = node.status === "COMPLETED" ? "completed" : node.status === "FAILED" ? "failed" : null;
    const isOpen = node.completedAt === null;
    const shared = { attempt: node.attempt, childId: null, seq: node.opened };
    segments.push({ ...shared, kind, from, to: Math.max(from, to), isOpen, outcome });
  }
  return segments.sort((a, b) => a.from - b.from || a.seq - b.seq);
}

function pausesOf(state: InstanceState, now: number): Segment[] {
  const segments: Segment[] = [];
  state.statuses.forEach(({ status, at, seq }, index) => {
    if (status !== "PAUSED") return;
    const next = state.statuses[index + 1];
    const from = Date.parse(at);
    segments.push({
      kind: "paused",
      from,
      to: Math.max(from, next ? Date.parse(next.at) : now),
      isOpen: next === undefined,
      attempt: 0,
      outcome: null,
      childId: null,
      seq,
    });
  });
  return segments;
}

export interface Gap {
  from: number;
  to: number;
}

/** Where time is cut: the length of the gap is written at the mark. */
export interface Break extends Gap {
  /** Where the mark stands on the scale, from 0 to 1. */
  x: number;
  width: number;
}

/** Moments ↔ places from 0 to 1. */
export interface Scale {
  from: number;
  to: number;
  breaks: Break[];
  toX(moment: number): number;
  toMoment(x: number): number;
}

/** Times in which work was done; all others are waits, which may be shortened. */
const WORK: ReadonlySet<SegmentKind> = new Set(["queued", "running", "child", "compensating"]);

export function linear(from: number, to: number): Scale {
  return scaleOf(from, to, []);
}

/** A scale on which each idle gap that is longer than the rest together is shortened. */
export function compress(segments: readonly Segment[], options: { least?: number; width?: number } = {}): Scale {
  const from = segments.reduce((least, each) => Math.min(least, each.from), Number.POSITIVE_INFINITY);
  const to = segments.reduce((most, each) => Math.max(most, each.to), Number.NEGATIVE_INFINITY);
  if (!(from < to)) return scaleOf(Number.isFinite(from) ? from : 0, Number.isFinite(to) ? to : 0, []);
  const least = options.least ?? 1_000;
  const gaps = idleGaps(segments, from, to).filter((gap) => gap.to - gap.from >= least);
  const idle = gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0);
  const busy = to - from - idle;
  // What is short beside the work is shown as it is.
  const cut = gaps.filter((gap) => gap.to - gap.from > busy / 4);
  return scaleOf(from, to, cut, options.width);
}

function idleGaps(segments: readonly Segment[], from: number, to: number): Gap[] {
  // The moments at which waits begin and end stay visible: a gap is cut between two of them.
  const work = segments.filter((each) => WORK.has(each.kind)).sort((a, b) => a.from - b.from);
  const edges = [...new Set(segments.flatMap((each) => [each.from, each.to]))].sort((a, b) => a - b);
  const gaps: Gap[] = [];
  let end = from;
  let next = 0;
  const add = (left: number, right: number) => {
    let begin = left;
    while (next < edges.length && (edges[next] as number) <= left) next += 1;
    while (next < edges.length && (edges[next] as number) < right) {
      gaps.push({ from: begin, to: edges[next] as number });
      begin = edges[next] as number;
      next += 1;
    }
    if (begin < right) gaps.push({ from: begin, to: right });
  };
  for (const each of work) {
    if (each.from > end) add(end, each.from);
    end = Math.max(end, each.to);
  }
  if (end < to) add(end, to);
  return gaps;
}

/** Each gap takes `width` of the scale, but all of them together no more than half of it. */
function scaleOf(from: number, to: number, gaps: readonly Gap[], width = 0.06): Scale {
  const idle = gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0);
  const busy = to - from - idle;
  const each = gaps.length === 0 ? 0 : busy > 0 ? Math.min(width, 0.5 / gaps.length) : 1 / gaps.length;
  const rest = 1 - each * gaps.length;
  const pieces: { from: number; to: number; x: number; width: number; isGap: boolean }[] = [];
  let moment = from;
  let x = 0;
  const push = (until: number, isGap: boolean) => {
    const share = isGap ? each : busy > 0 ? (rest * (until - moment)) / busy : 0;
    if (until > moment) pieces.push({ from: moment, to: until, x, width: share, isGap });
    moment = until;
    x += share;
  };
  for (const gap of gaps) {
    push(gap.from, false);
    push(gap.to, true);
  }
  push(to, false);
  const breaks = pieces.filter((piece) => piece.isGap).map(({ isGap: _, ...piece }) => piece);
  const last = pieces.at(-1);
  return {
    from,
    to,
    breaks,
    toX(wanted) {
      if (!last) return 0;
      const piece = pieces.find((candidate) => wanted <= candidate.to) ?? last;
      const share = (wanted - piece.from) / (piece.to - piece.from);
      return clamp(piece.x + piece.width * share);
    },
    toMoment(wanted) {
      if (!last) return from;
      const piece = pieces.find((candidate) => wanted <= candidate.x + candidate.width) ?? last;
      const share = piece.width > 0 ? (wanted - piece.x) / piece.width : 0;
      return Math.min(Math.max(piece.from + share * (piece.to - piece.from), from), to);
    },
  };
}

function clamp(x: number): number {
  return Math.min(Math.max(x, 0), 1);
}

const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500]
  .flatMap((each) => [each])
  .concat([1, 2, 5, 10, 15, 30].map((each) => each * 1e3))
  .concat([1, 2, 5, 10, 15, 30].map((each) => each * 60e3))
  .concat([1, 2, 3, 6, 12].map((each) => each * 3600e3))
  .concat([1, 2, 7, 14, 28, 91, 182, 364].map((each) => each * 86400e3));

/** Round moments to write below a scale, at most about `most`, with none inside a break. */
export function ticks(scale: Scale, most = 8): number[] {
  const shown = scale.breaks.reduce((sum, each) => sum - (each.to - each.from), scale.to - scale.from);
  if (!(shown > 0)) return [scale.from];
  const step = STEPS.find((each) => shown / each <= most) ?? (STEPS.at(-1) as number);
  const found: number[] = [];
  let begin = scale.from;
  for (const gap of [...scale.breaks, { from: scale.to, to: scale.to }]) {
    for (let at = Math.ceil(begin / step) * step; at <= gap.from && found.length < 4 * most; at += step) {
      found.push(at);
    }
    begin = gap.to;
  }
  return found;
}
