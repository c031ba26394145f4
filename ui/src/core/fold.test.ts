import { describe, expect, test } from "vitest";
import { golden, NAMES } from "../../tests/golden";
import { Random } from "../../tests/random";
import { blank, fold, foldAll } from "./fold";
import { graphOf } from "./graph";
import type { JsonObject } from "./json";
import { EVENT_TYPES, type LogEntry } from "./log";
import { planOf } from "./plan";
import { contextView, instanceView, stepView } from "./view";

function entry(seq: number, eventType: string, change: Partial<LogEntry> = {}): LogEntry {
  const at = new Date(Date.UTC(2026, 0, 1) + seq * 1000).toISOString();
  const none = { nodeStatus: null, outputVariable: null, errorMessage: null };
  return { seq, eventType, nodeId: null, iteration: "", attempt: null, ...none, payload: {}, at, ...change };
}

describe("stored logs", () => {
  test.each(NAMES)("%s folds to what its engine showed", (name) => {
    const { id, plan, log, foldsTo } = golden(name);
    const shown = instanceView(plan, fold(plan, id, log));
    for (const field of ["status", "state", "output", "compensationState"]) {
      if (field in foldsTo) expect(shown[field]).toEqual(foldsTo[field]);
    }
    expect(contextView(fold(plan, id, log))).toEqual(foldsTo["ctx"]);
  });

  test("the fold in parts is the fold of all, and older states stay as they were", () => {
    const random = new Random(7);
    for (const name of NAMES) {
      const { id, plan, log } = golden(name);
      let state = blank(id);
      const older: [typeof state, string][] = [];
      for (let at = 0; at < log.length; ) {
        const until = Math.min(log.length, at + 1 + random.below(5));
        state = foldAll(plan, state, log.slice(at, until));
        older.push([state, JSON.stringify(instanceView(plan, state))]);
        at = until;
      }
      expect(state).toEqual(fold(plan, id, log));
      for (const [was, shown] of older) {
        expect(JSON.stringify(instanceView(plan, was))).toBe(shown);
        expect(fold(plan, id, log, was.version)).toEqual(was);
      }
    }
  });

  test("attempts and spans end, once their instance has ended", () => {
    for (const name of NAMES) {
      const { id, plan, log } = golden(name);
      const state = fold(plan, id, log);
      for (const node of state.activations.values()) {
        if (state.open.has(node.key)) continue;
        expect(node.attempts.filter((each) => each.endedAt === null)).toEqual([]);
        expect(node.spans.filter((each) => each.to === null)).toEqual([]);
      }
    }
  });
});

const PLAN = planOf(
  graphOf({
    id: "w",
    steps: [
      { stepId: "a", type: "TASK", taskId: "t", outputVariable: "x", transitions: { default: ["b", "c"] } },
      { stepId: "b", type: "TASK", taskId: "t", transitions: { default: "d" } },
      { stepId: "c", type: "TASK", taskId: "t", transitions: { default: "d" } },
      { stepId: "d", type: "TASK", taskId: "t" },
    ],
  }),
);
const at = (nodeId: string, attempt = 1) => ({ nodeId, attempt });
const BEGIN = [
  entry(1, "INPUT_SET", { payload: { input: { n: 1 }, definitionId: "w", definitionVersion: 3 } }),
  entry(2, "STATUS_CHANGED", { payload: { from: "CREATED", to: "RUNNING" } }),
];

test("an attempt has its times, its error, and when the next one is due", () => {
  const due = "2026-01-01T00:00:09.000Z";
  const state = fold(PLAN, "i", [
    ...BEGIN,
    entry(3, "NODE_DISPATCHED", at("a")),
    entry(4, "NODE_FAILED", {
      ...at("a"),
      payload: { error: { code: "BUSY", message: "later" }, then: "retry", executionTime: 400 },
    }),
    entry(5, "RETRY_SCHEDULED", { ...at("a", 2), payload: { due } }),
  ]);
  const node = state.activations.get("a");
  expect(node?.status).toBe("RETRYING");
  expect(node?.dueAt).toBe(due);
  expect(node?.attempts).toMatchObject([
    { number: 1, outcome: "failed", error: { code: "BUSY" }, executionTime: 400, queueTime: 600, nextAt: due },
  ]);
  expect(node?.spans).toMatchObject([{ kind: "back-off", attempt: 2, to: null, dueAt: due }]);
});

test("an attempt that was lost differs from one that was stopped", () => {
  const failed = (code: string) => ({ error: { code, message: "" }, then: "retry", counts: false });
  const state = fold(PLAN, "i", [
    ...BEGIN,
    entry(3, "NODE_DISPATCHED", at("a")),
    entry(4, "NODE_FAILED", { ...at("a"), payload: failed("LOST") }),
    entry(5, "NODE_DISPATCHED", at("a", 2)),
    entry(6, "NODE_FAILED", { ...at("a", 2), payload: failed("STOPPED") }),
    entry(7, "NODE_DISPATCHED", at("a", 3)),
  ]);
  expect(state.activations.get("a")?.attempts.map((each) => each.outcome)).toEqual(["lost", "stopped", "running"]);
});

test("a variable says which step set it, at which entry", () => {
  const state = fold(PLAN, "i", [
    ...BEGIN,
    entry(3, "NODE_DISPATCHED", at("a")),
    entry(4, "NODE_COMPLETED", { ...at("a"), nodeStatus: "success", outputVariable: "x", payload: { output: 5 } }),
  ]);
  expect(state.variables.get("x")).toMatchObject({ value: 5, step: "a", seq: 4, before: [] });
});

test("a join counts what has arrived, and from where", () => {
  const done = (seq: number, step: string) => entry(seq, "NODE_COMPLETED", { ...at(step), nodeStatus: "success" });
  const state = fold(PLAN, "i", [...BEGIN, done(3, "a"), done(4, "b")]);
  expect(state.joins.get("d")).toMatchObject({ taken: 1, dead: 0, edges: 2, firedAt: null });
  expect(state.joins.get("d")?.arrivals.map((each) => each.from)).toEqual(["b"]);
  const fired = foldAll(PLAN, state, [done(5, "c")]);
  expect(fired.joins.get("d")?.firedAt).toBe(5);
  expect(fired.edges.get("c:default>d")).toEqual({ taken: true, seq: 5 });
});

test("entries, statuses and steps that are not known change nothing else, and are kept", () => {
  const state = fold(PLAN, "i", [
    ...BEGIN,
    entry(3, "NODE_TELEPORTED", { ...at("a"), payload: ["?"] }),
    entry(4, "STATUS_CHANGED", { payload: { to: "HIBERNATING" } }),
    entry(5, "NODE_DISPATCHED", at("not-in-the-graph")),
    entry(6, "NODE_COMPLETED", { ...at("not-in-the-graph"), nodeStatus: "splendid", payload: null }),
  ]);
  expect(state.unknown.map((each) => each.eventType)).toEqual(["NODE_TELEPORTED"]);
  expect(state.status).toBe("HIBERNATING");
  expect(state.version).toBe(6);
  expect(stepView(state.activations.get("a"))).toMatchObject({ status: "PENDING" });
});

test("no entry, whatever it holds and wherever it comes, is refused", () => {
  const random = new Random(11);
  const values = [null, 0, "x", [], {}, [1], { error: null }, { plan: [1, {}] }, { then: "fail" }];
  for (let round = 0; round < 300; round += 1) {
    const log = Array.from({ length: 30 }, (_, index) =>
      entry(index + 1, random.pick(EVENT_TYPES), {
        nodeId: random.pick(["a", "b", "loop", "elsewhere", null]),
        iteration: random.pick(["", "0", "1", "0/2", "x"]),
        attempt: random.pick([1, 2, null]),
        nodeStatus: random.pick(["success", "error", null]),
        payload: random.chance(0.5)
          ? random.pick(values)
          : (Object.fromEntries(
              ["error", "output", "items", "plan", "due", "parent", "edited", "handles", "arms"].map((name) => [
                name,
                random.pick(values),
              ]),
            ) as JsonObject),
      }),
    );
    const state = fold(PLAN, "i", log);
    expect(state.version).toBe(30);
    instanceView(PLAN, state);
  }
});

const LOOPED = planOf(
  graphOf({
    id: "w",
    steps: [
      {
        stepId: "each",
        type: "LOOP",
        source: "{{ctx.input}}",
        mode: "parallel",
        outputVariable: "all",
        transitions: { loop: "work" },
      },
      { stepId: "work", type: "TASK", taskId: "t", outputVariable: "made" },
    ],
  }),
);

function looped(count: number): LogEntry[] {
  const log = [entry(1, "INPUT_SET", { payload: { input: [], definitionId: "w", definitionVersion: 1 } })];
  const add = (eventType: string, change: Partial<LogEntry>) => log.push(entry(log.length + 1, eventType, change));
  for (let index = 0; index < count; index += 1) {
    const iteration = String(index);
    const items = index === 0 ? { items: Array.from({ length: count }, (_, item) => item) } : {};
    add("ITERATION_STARTED", { ...at("each"), iteration, payload: items });
    add("NODE_DISPATCHED", { ...at("work"), iteration });
    add("NODE_COMPLETED", {
      ...at("work"),
      iteration,
      nodeStatus: "success",
      outputVariable: "made",
      payload: { output: index },
    });
    add("ITERATION_ENDED", { ...at("each"), iteration, payload: { output: index } });
  }
  return log;
}

test("iterations that have ended can still be looked into", () => {
  const state = fold(LOOPED, "i", looped(3));
  expect(state.loops.get("each")).toMatchObject({ length: 3, started: 3, active: 0, succeeded: 3 });
  expect(state.iterations.get("each[1]")).toMatchObject({ index: 1, item: 1, status: "success", output: 1 });
  expect(state.iterations.get("each[1]")?.variables.get("made")?.value).toBe(1);
  expect(state.activations.get("work[2]")?.attempts).toHaveLength(1);
  expect(state.variables.size).toBe(0);
});

test("a log of 100,000 entries is folded", () => {
  const state = fold(LOOPED, "i", looped(25_000));
  expect(state.version).toBe(100_001);
  expect(state.loops.get("each")?.succeeded).toBe(25_000);
});
