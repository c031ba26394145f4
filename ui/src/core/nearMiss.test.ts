import { expect, test } from "vitest";

import { recipientOf, reachedWords } from "./eventReach";
import { correctionOf, failedParts } from "./nearMiss";

const only = (expression: string, left: unknown, right: unknown, error?: string) => {
  const [part] = failedParts([{ expression, left, right, ...(error === undefined ? {} : { error }) }]);
  if (part === undefined) throw new Error("no part");
  return part;
};

test.each([
  ["event.payload.orderId === workflow.input.orderId", "A2", "A1", { path: ["orderId"], value: "A1" }],
  ["workflow.input.orderId === event.payload.order.ids[0]", "A1", null, { path: ["order", "ids", 0], value: "A1" }],
  ["event.payload.n == 7", "x", 7, { path: ["n"], value: 7 }],
  ["event.payload.amount >= workflow.input.amount", 3, 5, null],
  ["event.payload.a === ctx.a && event.payload.b", 1, 2, null],
  ["event.correlationId === workflow.input.id", "x", "y", null],
  ['event.payload.text === "a === b"', "c", "a === b", { path: ["text"], value: "a === b" }],
  ["", null, null, null],
])("a false part says what to correct in the payload: %s", (expression, left, right, expected) => {
  expect(correctionOf(only(expression, left, right))).toEqual(expected);
});

test("a part that could not be evaluated has no correction", () => {
  expect(correctionOf(only("event.payload.a === ctx.a", null, null, "ctx.a is missing"))).toBeNull();
});

test.each([null, 7, [null, "x"], [{ expression: 7 }]])("what the service says otherwise is no error: %j", (failed) => {
  expect(() => failedParts(failed).map(correctionOf)).not.toThrow();
});

test("what an event did is counted in words", () => {
  expect(reachedWords({ resumed: 1, cancelled: 0, started: 2 })).toBe("1 wait resumed, 2 instances started");
  expect(reachedWords({})).toBe("");
});

test("a recipient is a step, an instance or a workflow", () => {
  expect(recipientOf({ instanceId: "i", stepId: "paid", iteration: "2", what: "resumed" })).toMatchObject({ instance: "i", step: "paid", iteration: "2", workflow: null });
  expect(recipientOf({ workflowId: "order", trigger: 0, what: "refused", reason: "no" })).toMatchObject({ instance: null, workflow: "order", reason: "no" });
  expect(recipientOf(null)).toMatchObject({ what: "", instance: null });
});
