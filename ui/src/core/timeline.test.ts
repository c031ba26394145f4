import { describe, expect, test } from "vitest";
import { golden, NAMES } from "../../tests/golden";
import { Random } from "../../tests/random";
import { fold } from "./fold";
import { compress, linear, newestRow, pickIteration, rowsOf, ticks, type Row, type Segment, type TimelineOptions } from "./timeline";

const NOW = Date.UTC(2026, 1, 1);

function rows(name: string, options: { order?: "graph" | "start" } = {}) {
  const { id, plan, log } = golden(name);
  return rowsOf(plan, fold(plan, id, log), { now: NOW, ...options });
}

const kinds = (name: string, key: string) =>
  rows(name)
    .find((row) => row.key === key)
    ?.segments.map((segment) => segment.kind);

test("a step that was tried again has its attempts, and the back-off between them", () => {
  const retried = NAMES.flatMap((name) => rows(name)).find((row) =>
    row.segments.some((each) => each.kind === "back-off"),
  );
  const order = retried?.segments.map((each) => each.kind) ?? [];
  expect(order[order.indexOf("back-off") - 1]).toBe("running");
});

test("waits, sleeps, approvals, held results and compensations are different segments", () => {
  const all = new Set(NAMES.flatMap((name) => rows(name).flatMap((row) => row.segments.map((each) => each.kind))));
  for (const kind of [
    "running",
    "back-off",
    "event",
    "approval",
    "delay",
    "held",
    "loop",
    "child",
    "compensating",
    "paused",
  ] as const) {
    expect(all).toContain(kind);
  }
});

test("compensations come after the steps that they undo", () => {
  const found = rows("order_undone");
  const first = found.findIndex((row) => row.kind === "compensation");
  expect(first).toBeGreaterThan(0);
  expect(found.slice(first).every((row) => row.kind === "compensation")).toBe(true);
});

test("no segment ends before it begins, and those of a row are in order", () => {
  for (const name of NAMES) {
    for (const { segments } of rows(name, { order: "start" })) {
      segments.forEach((each, index) => {
        expect(each.to).toBeGreaterThanOrEqual(each.from);
        if (index > 0) expect(each.from).toBeGreaterThanOrEqual(segments[index - 1]!.from);
      });
    }
  }
});

describe("what is inside a row", () => {
  const { id, plan, log } = golden("looped");
  const state = fold(plan, id, log);
  const loop = [...state.loops.values()].find((each) => each.started > 1)!;
  const below = (options: Partial<TimelineOptions>, key = loop.key) => {
    const found = rowsOf(plan, state, { now: NOW, ...options });
    const at = found.findIndex((row) => row.key === key);
    const end = found.findIndex((row, place) => place > at && row.depth <= found[at]!.depth);
    return found.slice(at + 1, end < 0 ? undefined : end);
  };

  test("below a loop stand its iterations, and below the picked one its steps", () => {
    const inside = below({ picked: new Map([[loop.key, 0]]) });
    expect(inside.filter((row) => row.kind === "iteration" && row.depth === inside[0]!.depth)).toHaveLength(loop.started);
    expect(inside[0]).toMatchObject({ kind: "iteration", iteration: "0", isOpen: true });
    expect(inside[1]).toMatchObject({ kind: "step", iteration: "0", depth: inside[0]!.depth + 1 });
    expect(new Set(inside.map((row) => row.key)).size).toBe(inside.length);
  });

  test("what the viewer opens and closes stays so", () => {
    expect(below({ toggled: new Map([[loop.key, false]]) })).toEqual([]);
    const second = `iteration ${loop.step}[1]`;
    const closed = below({ picked: new Map([[loop.key, 0]]) });
    const opened = below({ picked: new Map([[loop.key, 0]]), toggled: new Map([[second, true]]) });
    expect(opened.length).toBeGreaterThan(closed.length);
    expect(opened.some((row) => row.kind === "step" && row.iteration === "1")).toBe(true);
  });

  test("below a step stand the rows of the instance that it started, once they were read", () => {
    const parent = NAMES.map((name) => golden(name)).find(({ id, plan, log }) => [...fold(plan, id, log).activations.values()].some((node) => node.children.length > 0))!;
    const whole = fold(parent.plan, parent.id, parent.log);
    const node = [...whole.activations.values()].find((each) => each.children.length > 0)!;
    const child = node.children.at(-1)!;
    const toggled = new Map([[node.key, true]]);
    const made = (children: TimelineOptions["children"]) => rowsOf(parent.plan, whole, { now: NOW, toggled, ...(children === undefined ? {} : { children }) });
    const head = (children: TimelineOptions["children"]) => made(children).find((row) => row.kind === "child");
    expect(head(undefined)).toMatchObject({ childId: child, title: expect.stringContaining("reading its log") });
    expect(head(new Map([[child, { problem: "not there" }]]))?.title).toContain("not there");
    expect(head(new Map([[child, { plan, state, note: null }]]))).toMatchObject({ status: state.status });
    expect(head(new Map([[child, { plan, state, note: "2,000 of 80,000 entries read" }]]))?.title).toContain("2,000 of 80,000");
    const inside = made(new Map([[child, { plan, state, note: null }]])).filter((row) => row.instanceId === child);
    expect(inside.length).toBe(rowsOf(plan, state, { now: NOW }).length);
    expect(rowsOf(parent.plan, whole, { now: NOW }).every((row) => row.instanceId === null)).toBe(true);
  });
});

test("the newest row is the one that began last, of those that go on", () => {
  const row = (from: number, isOpen: boolean): Row => ({ key: String(from), kind: "step", instanceId: null, step: "", iteration: "", title: "", status: "", depth: 0, isOpen: null, childId: null, segments: [{ ...segment("running", from, from + 1), isOpen }] });
  expect(newestRow([row(1, false), row(3, false), row(2, false)])).toBe(1);
  expect(newestRow([row(1, false), row(2, true), row(3, false)])).toBe(1);
  expect(newestRow([])).toBe(-1);
});

test("the iteration that failed first is the one that is shown", () => {
  for (const name of NAMES) {
    const { id, plan, log } = golden(name);
    const state = fold(plan, id, log);
    for (const loop of state.loops.values()) {
      const errors = [...state.iterations.values()].filter(
        (each) => each.loop === loop.step && each.status === "error",
      );
      const picked = pickIteration(plan, state, loop.key);
      if (errors.length > 0 && !loop.key.includes("[")) expect(picked?.status).toBe("error");
      else expect(picked).toBeDefined();
    }
  }
  expect(kinds("completed", "no-such-row")).toBeUndefined();
});

function segment(kind: Segment["kind"], from: number, to: number): Segment {
  return { kind, from, to, isOpen: false, attempt: 1, outcome: null, childId: null, seq: 1 };
}

describe("compressed scales", () => {
  const DAY = 86_400_000;

  test("a wait of three days does not flatten the work around it", () => {
    const scale = compress([
      segment("running", 0, 1000),
      segment("event", 1000, 3 * DAY),
      segment("running", 3 * DAY, 3 * DAY + 1000),
    ]);
    expect(scale.breaks).toHaveLength(1);
    expect(scale.breaks[0]).toMatchObject({ from: 1000, to: 3 * DAY });
    expect(scale.toX(1000) - scale.toX(0)).toBeGreaterThan(0.4);
  });

  test("what is short beside the work is shown as it is", () => {
    expect(
      compress([segment("running", 0, 10_000), segment("delay", 10_000, 11_500), segment("running", 11_500, 20_000)])
        .breaks,
    ).toEqual([]);
  });

  test("moments and places are each other's reverse, and order is kept", () => {
    const random = new Random(3);
    for (let round = 0; round < 200; round += 1) {
      const segments = Array.from({ length: 1 + random.below(12) }, () => {
        const from = random.below(4) * DAY + random.below(60_000);
        const to = from + (random.chance(0.3) ? random.below(2 * DAY) : random.below(5_000));
        return segment(random.pick(["running", "queued", "event", "delay", "back-off"] as const), from, to);
      });
      const scale = compress(segments);
      let before = -1;
      for (let share = 0; share <= 20; share += 1) {
        const moment = scale.from + ((scale.to - scale.from) * share) / 20;
        const x = scale.toX(moment);
        expect(x).toBeGreaterThanOrEqual(before);
        before = x;
        expect(Math.abs(scale.toMoment(x) - moment)).toBeLessThan(Math.max(1, (scale.to - scale.from) * 1e-9));
      }
      if (scale.to > scale.from) {
        expect(scale.toX(scale.from)).toBe(0);
        expect(scale.toX(scale.to)).toBeCloseTo(1, 9);
      }
      for (const tick of ticks(scale)) {
        expect(scale.breaks.some((gap) => gap.from < tick && tick < gap.to)).toBe(false);
      }
    }
  });

  test("nothing at all has a scale too", () => {
    expect(compress([]).toX(5)).toBe(0);
    expect(linear(5, 5).toMoment(0.5)).toBe(5);
    expect(ticks(linear(0, 60_000)).length).toBeGreaterThan(3);
  });
});
