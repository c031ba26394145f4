import { describe, expect, test } from "vitest";

import { blank, fold } from "../../../core/fold";
import { graphOf } from "../../../core/graph";
import type { Json } from "../../../core/json";
import { layoutOf } from "../../../core/layout";
import type { LogEntry } from "../../../core/log";
import { planOf } from "../../../core/plan";
import { drawingOf, progressOf } from "./boxes";
import { said, shows } from "./entries";
import { shortId } from "../../../core/ids";
import { pickedBy, shownIteration, stripsOf } from "./iterations";
import { rerunOf, retryOf } from "./redo";
import { snapshotOf } from "./snapshot";
import { EMPTY, firstOf, isWhole, lastOf, withPage } from "./window";

const PLAN = planOf(
  graphOf({
    id: "order",
    steps: [
      { stepId: "reserve", type: "TASK", taskId: "reserve", transitions: { default: "charge" } },
      { stepId: "charge", type: "TASK", taskId: "charge", retry: { maxAttempts: 3 }, transitions: { default: "items" } },
      { stepId: "items", type: "LOOP", source: "{{ctx.input.items}}", transitions: { loop: "pack", done: "ship" } },
      { stepId: "pack", type: "TASK", taskId: "pack" },
      { stepId: "ship", type: "TASK", taskId: "ship" },
    ],
  }),
);

let last = 0;
function entry(eventType: string, nodeId: string | null = null, payload: Json = {}, more: Partial<LogEntry> = {}): LogEntry {
  last += 1;
  const at = new Date(Date.UTC(2026, 0, 1, 0, 0, last)).toISOString();
  return { seq: last, eventType, nodeId, iteration: "", attempt: nodeId === null ? null : 1, nodeStatus: null, outputVariable: null, payload, errorMessage: null, at, ...more };
}
function log(...make: (() => LogEntry)[]): LogEntry[] {
  last = 0;
  return make.map((each) => each());
}
const begin = () => entry("INPUT_SET", null, { definitionId: "order", definitionVersion: 2, input: { items: [1, 2], orderId: "A1" } });
const running = () => entry("STATUS_CHANGED", null, { from: "CREATED", to: "RUNNING" });
const done = (id: string) => [() => entry("NODE_DISPATCHED", id), () => entry("NODE_COMPLETED", id, { output: id, handles: ["default"] }, { nodeStatus: "success" })];
const error = { error: { code: "DECLINED", message: "no", retryable: false } };
const failed = log(begin, running, ...done("reserve"), () => entry("NODE_DISPATCHED", "charge"), () => entry("NODE_FAILED", "charge", error), () => entry("STATUS_CHANGED", null, { from: "RUNNING", to: "FAILED", error: { code: "DECLINED", message: "no", stepId: "charge" } }));

describe("the part of a log that was read", () => {
  const numbered = (...seqs: number[]) => seqs.map((seq) => ({ ...entry("SYSTEM_SET"), seq }));

  test("older and newer pages are added without holes and without repeats, in either order", () => {
    let window = withPage(EMPTY, numbered(9, 8, 7));
    expect([firstOf(window), lastOf(window), isWhole(window)]).toEqual([7, 9, false]);
    window = withPage(window, numbered(7, 6, 5, 4, 3, 2, 1));
    window = withPage(window, numbered(9, 10, 11));
    expect(window.entries.map((each) => each.seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect([isWhole(window), window.epoch]).toEqual([true, 0]);
    expect(withPage(window, numbered(3, 4))).toBe(window);
    expect(withPage(window, [])).toBe(window);
  });

  test("a page that leaves a hole replaces it, and what was folded is void", () => {
    const window = withPage(withPage(EMPTY, numbered(1, 2)), numbered(9, 10));
    expect(window.entries.map((each) => each.seq)).toEqual([9, 10]);
    expect(window.epoch).toBe(1);
  });
});

describe("what is kept and done again", () => {
  const state = fold(PLAN, "i", failed);

  test("a retry keeps what completed and runs what failed", () => {
    expect(retryOf(PLAN, state)).toEqual({ kept: ["reserve"], again: ["charge"], after: ["items", "ship"] });
  });

  test.each([
    ["charge", { kept: ["reserve"], again: ["charge"], after: ["items", "ship"] }],
    ["reserve", { kept: [], again: ["reserve", "charge"], after: ["items", "ship"] }],
    [null, { kept: [], again: ["reserve", "charge"], after: ["items", "ship"] }],
  ])("a rerun from %s keeps what neither is that step nor follows it", (from, redo) => {
    expect(rerunOf(PLAN, state, from)).toEqual(redo);
  });
});

describe("what is drawn", () => {
  test("a step that an ended instance never reached is not pending", () => {
    const { boxes } = drawingOf(PLAN, layoutOf(PLAN.graph), fold(PLAN, "i", failed), { step: null, iteration: "" });
    const told = Object.fromEntries(boxes.map((box) => [box.id, [box.status, box.detail]]));
    expect(told["reserve"]).toEqual(["COMPLETED", "1.0 s"]);
    expect(told["ship"]).toEqual([undefined, "not reached"]);
  });

  test("steps that only the log knows, and statuses of a newer server, are drawn", () => {
    const state = snapshotOf({ id: "i", status: "HIBERNATING", state: { steps: { ghost: { status: "DREAMING", attempts: 1 }, ship: { status: "PENDING", attempts: 0 } } } });
    const { boxes } = drawingOf(PLAN, layoutOf(PLAN.graph), state, { step: null, iteration: "" });
    expect(boxes.find((box) => box.id === "ghost")).toMatchObject({ kind: "unknown step", status: "DREAMING" });
    expect(boxes.find((box) => box.id === "ship")?.status).toBe("PENDING");
    expect(progressOf(PLAN, state)).toEqual({ parts: [], total: 4 });
  });

  test("the iteration of a loop is the one that the selection lies in, else the first that failed", () => {
    const looped = log(
      begin,
      running,
      ...done("reserve"),
      ...done("charge"),
      () => entry("NODE_DISPATCHED", "items", { items: [1, 2] }),
      () => entry("ITERATION_STARTED", "items", { item: 1 }, { iteration: "0" }),
      () => entry("ITERATION_ENDED", "items", { status: "error", error: { code: "X", message: "x" } }, { iteration: "0", nodeStatus: "error" }),
      () => entry("ITERATION_STARTED", "items", { item: 2 }, { iteration: "1" }),
    );
    const state = fold(PLAN, "i", looped);
    expect(pickedBy(PLAN, { step: "pack", iteration: "1" })).toEqual(new Map([["items", 1]]));
    expect(shownIteration(PLAN, state, "pack", { step: "pack", iteration: "1" })).toBe("1");
    expect(stripsOf(PLAN, state, { step: "charge", iteration: "" }).length).toBeLessThanOrEqual(1);
  });
});

describe("entries in words", () => {
  test("each filter shows what it names, and text is searched in what is shown", () => {
    const fault = failed[5] as LogEntry;
    expect(said(fault)).toBe("DECLINED: no");
    expect(shows({ step: null, types: "problems", text: "" }, fault)).toBe(true);
    expect(shows({ step: "ship", types: "", text: "" }, fault)).toBe(false);
    expect(shows({ step: null, types: "", text: "declined" }, fault)).toBe(true);
    expect(shows({ step: null, types: "waits", text: "" }, fault)).toBe(false);
  });

  test("an entry of an unknown type, or with a payload of another shape, says nothing and breaks nothing", () => {
    for (const payload of [null, 3, "x", [1], { error: 7, plan: "no" }] as Json[]) {
      for (const type of ["NEW_THING", "NODE_FAILED", "COMPENSATION_PLANNED", "WAIT_OPENED", "STATUS_CHANGED"]) {
        expect(typeof said(entry(type, "a", payload))).toBe("string");
      }
    }
  });
});

test("a snapshot of anything is a state", () => {
  for (const view of [null, {}, [], "x", { state: { steps: [], variables: 3 } }]) expect(snapshotOf(view).activations.size).toBe(0);
  const { version } = snapshotOf({ version: 7 });
  expect([version, blank("").version]).toEqual([7, 0]);
});

test("a shortened id is what the command line writes and takes", () => {
  expect(shortId("01a1ea27-6f25-7373-9642-2221d50dfbbc")).toBe("01a1ea27-6f25");
});
