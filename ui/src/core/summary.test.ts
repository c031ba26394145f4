import { expect, test } from "vitest";
import { golden, NAMES } from "../../tests/golden";
import { explanationOf, remediesOf } from "./explain";
import { fold } from "./fold";
import { summaryOf } from "./summary";
import { instanceView } from "./view";

const LINK = "https://tenuto.example/instances/1";

function summary(name: string, change: object = {}): string {
  const { id, plan, log } = golden(name);
  const state = fold(plan, id, log);
  const instance = { ...instanceView(plan, state), ...change };
  return summaryOf({
    instance,
    state,
    link: LINK,
    now: Date.UTC(2026, 0, 2),
    explanation: { summary: "it failed", causes: [] },
  });
}

test("the summary of a failed instance has its step, its attempts and its address", () => {
  expect(summary("two_branches_one_failed")).toMatchInlineSnapshot(`
    "w v1 is FAILED
    instance 00000000-0000-7000-8000-000000000001
    started 2026-01-01 00:00:00.000 UTC, ended 2026-01-01 00:00:10.000 UTC after 10 s
    why: it failed
    step a failed on attempt 1: BROKEN: BROKEN in a
      attempt 1 at 2026-01-01 00:00:00.000 UTC: failed BROKEN after 0 ms
    https://tenuto.example/instances/1"
  `);
});

test("every instance has a summary that ends with its address", () => {
  for (const name of NAMES) expect(summary(name).split("\n").at(-1)).toBe(LINK);
});

test("text from outside stays on its line and is cut", () => {
  const text = summary("completed", { correlationId: `a\nFAKE \u202e${"x".repeat(1000)}` });
  const line = text.split("\n").find((each) => each.startsWith("correlation id"));
  expect(line).toMatch(/^correlation id a FAKE x+…$/);
  expect(line!.length).toBeLessThan(330);
});

test("an instance of which little is known has a summary too", () => {
  expect(summaryOf({ instance: {}, link: LINK, now: 0 })).toContain("UNKNOWN");
});

test("a cause has the action that ends it", () => {
  const explanation = explanationOf({
    summary: "waits",
    causes: [
      {
        kind: "paused",
        message: "m",
        details: {},
        causes: [{ kind: "event", stepId: "w", message: "m", details: { eventPattern: "paid", correlationId: "c" } }],
      },
      { kind: "event", message: "m", details: { eventPattern: "order.*" } },
      { kind: "approval", stepId: "a", iteration: "2", message: "m", details: {} },
      {
        kind: "child",
        message: "m",
        details: { childId: "x" },
        causes: [{ kind: "failed", message: "m", details: {} }],
      },
      { kind: "schedule", message: "m", details: { scheduleId: "daily" } },
      { kind: "of-a-newer-server", message: "m" },
    ],
  });
  expect(remediesOf(explanation)).toMatchObject([
    { kind: "resume" },
    { kind: "publish", pattern: "paid", correlationId: "c" },
    { kind: "decide", step: "a", iteration: "2" },
    { kind: "child", childId: "x" },
    { kind: "schedule", scheduleId: "daily" },
  ]);
  expect(remediesOf(explanationOf(null))).toEqual([]);
});
