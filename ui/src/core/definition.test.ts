import { expect, test } from "vitest";

import { compared, diffSummary } from "./comparison";
import { factsOf, readComparison, stepAt, stepDetail } from "./definition";

const ORDER = {
  id: "order",
  inputSchema: { type: "object" },
  triggers: [{ eventPattern: "order.placed", eventCondition: "event.payload.total > 0" }],
  cancellationTriggers: [{ eventPattern: "order.withdrawn" }],
  steps: [
    { stepId: "reserve", type: "TASK", taskId: "reserve_stock", transitions: { default: "paid" } },
    {
      stepId: "paid",
      type: "EVENT_WAIT",
      arms: [
        { id: "yes", eventPattern: "payment.received" },
        { id: "no", eventPattern: "payment.refused" },
      ],
      transitions: { yes: "ship", no: "tell" },
    },
    { stepId: "ship", type: "SUB_WORKFLOW", workflowId: "shipping", transitions: { default: "tell" } },
    { stepId: "tell", type: "EMIT", pattern: "order.done" },
    { stepId: "odd", type: "TELEPORT", taskId: 7 },
  ],
  compensationSteps: [{ stepId: "release", compensationFor: "reserve", taskId: "release_stock" }],
};

test("a definition says which events start, resume and cancel it, and which it publishes", () => {
  expect(factsOf(ORDER).events.map(({ does, pattern, step }) => [does, pattern, step])).toEqual([
    ["starts", "order.placed", null],
    ["cancels", "order.withdrawn", null],
    ["resumes", "payment.received", "paid"],
    ["resumes", "payment.refused", "paid"],
    ["publishes", "order.done", "tell"],
  ]);
});

test("a definition says what it calls and which tasks it needs, also to undo", () => {
  const { calls, tasks } = factsOf(ORDER);
  expect(calls).toEqual([{ step: "ship", workflow: "shipping" }]);
  expect(tasks).toEqual(["release_stock", "reserve_stock"]);
});

test.each([null, 7, "text", [], {}, { steps: 3 }, { steps: [null, 3], triggers: "x" }])("what is no definition has no facts: %j", (document) => {
  const { events, calls, tasks } = factsOf(document);
  expect([events, calls, tasks]).toEqual([[], [], []]);
});

test("a step is described by what it is about, and an unknown type by nothing", () => {
  const { graph } = factsOf(ORDER);
  expect(graph.nodes.map(({ type, config }) => stepDetail(type, config))).toEqual(["reserve_stock", "payment.received or payment.refused", "shipping", "order.done", ""]);
});

test.each([
  ["javascript", { code: "\n  const a = 1;\n  return a;" }, "const a = 1;"],
  ["javascript", { code: "x".repeat(70) }, `${"x".repeat(60)}…`],
  ["http", { url: "https://a.example", method: "POST" }, "POST https://a.example"],
  ["dataQuery", { dataQueryID: "stock" }, "stock"],
])("a %s step is described by what Tenuto does for it", (type, config, detail) => {
  expect(stepDetail(type, config)).toBe(detail);
});

test("a problem's path leads to its step", () => {
  const { graph } = factsOf(ORDER);
  expect(stepAt(graph, "$.steps[1].arms[0].eventPattern")).toBe("paid");
  expect(stepAt(graph, "$.steps[1]")).toBe("paid");
  expect(stepAt(graph, "$.steps[12].taskId")).toBeNull();
  expect(stepAt(graph, "$.inputSchema")).toBeNull();
});

test.each([
  ["3..5", { from: 3, to: 5 }],
  ["3..", null],
  ["a..b", null],
  [null, null],
])("a comparison is read from the address: %s", (text, expected) => {
  expect(readComparison(text)).toEqual(expected);
});

test("two versions are one graph that has removed steps too", () => {
  const steps = ORDER.steps.filter(({ stepId }) => stepId !== "tell");
  const later = { ...ORDER, steps: [...steps, { stepId: "mail", type: "TASK", taskId: "mail" }], description: "newer" };
  const { graph, diff } = compared(ORDER, later);
  expect(graph.nodes.map(({ id }) => id)).toEqual(["reserve", "paid", "ship", "odd", "mail", "tell"]);
  expect(graph.edges.map(({ id }) => id)).toContain("ship:default>tell");
  expect(diffSummary(diff)).toBe("1 step added, 1 removed, 2 edges changed, 1 setting changed");
  expect(diffSummary(compared(ORDER, ORDER).diff)).toBe("");
});
