import { expect, test } from "vitest";

import { knownFrom, mayHaveChildren, waitingWords } from "./definitions";

const KNOWN = knownFrom([
  {
    id: "order",
    version: 2,
    definition: {
      options: { searchable: ["region", "input.orderId"] },
      steps: [
        { stepId: "charge", type: "TASK", taskId: "charge_card", transitions: { default: "paid" } },
        { stepId: "paid", type: "EVENT_WAIT", eventPattern: "payment.received" },
        { stepId: "either", type: "EVENT_WAIT", arms: [{ id: "a", eventPattern: "a.b" }, { id: "c", eventPattern: "c.d" }] },
      ],
    },
  },
  { id: "trip", version: 1, definition: { nodes: [{ id: "book", type: "subWorkflow", config: { workflowId: "book_flight" } }], edges: [] } },
  { id: "odd", version: 1, definition: "no definition" },
]);

const at = (workflow: string, version: number, ...currentSteps: string[]) => ({ workflowDefinitionId: workflow, definitionVersion: version, currentSteps });

test("words for completion come from the definitions", () => {
  expect(KNOWN.words).toEqual({
    workflow: ["order", "trip", "odd"],
    step: ["book", "charge", "either", "paid"],
    event: ["a.b", "c.d", "payment.received"],
    var: ["input.orderId", "region"],
  });
});

test("what a step waits on is said in words, of the same version alone", () => {
  expect(waitingWords(KNOWN, at("order", 2, "charge", "paid"))).toBe("task charge_card, payment.received");
  expect(waitingWords(KNOWN, at("order", 2, "either"))).toBe("a.b or c.d");
  expect(waitingWords(KNOWN, at("trip", 1, "book"))).toBe("child book_flight");
  expect(waitingWords(KNOWN, at("order", 1, "paid"))).toBeNull();
  expect(waitingWords(KNOWN, at("gone", 1, "paid"))).toBeNull();
});

test("children are looked for where the definition may start some", () => {
  expect(mayHaveChildren(KNOWN, at("trip", 1))).toBe(true);
  expect(mayHaveChildren(KNOWN, at("order", 2))).toBe(false);
  expect(mayHaveChildren(KNOWN, at("order", 1))).toBe(true);
});
