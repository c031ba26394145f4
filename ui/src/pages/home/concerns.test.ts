import { expect, test } from "vitest";

import { concernOf, concernsOf, withoutRepeats, type Item } from "./concerns";

const item = (given: Partial<Item>): Item => ({ kind: "failed", id: "019b", at: null, message: "", ...given });

test.each<[Partial<Item>, string, string]>([
  [{ workflowId: "order", stepId: "charge", message: "card declined\ntrace" }, "order failed at charge: card declined", "Retry"],
  [{ workflowId: "order", stepId: "held", code: "KeyError", message: "'orderId'" }, "order failed at held: KeyError: 'orderId'", "Retry"],
  [{ kind: "deadLetter", stepId: "charge", message: "x" }, "charge is in dead letters: x", "See letter"],
  [{ kind: "approval", workflowId: "expenses", stepId: "review" }, "expenses waits for a decision that is overdue, at review", "Decide"],
  [{ kind: "breaker", id: "mail", message: "5 failed" }, "Breaker of mail is open: 5 failed", "See task"],
  [{ kind: "webhook", id: "w1", message: "" }, "Webhook w1 does not get through: without a message", "See deliveries"],
  [{ kind: "schedule", id: "nightly", message: "there is no workflow order" }, "Schedule nightly starts nothing: there is no workflow order", "See schedule"],
  [{ kind: "later" as "failed", message: "new" }, "later new", "Look"],
])("%j is one sentence with one action", (given, sentence, action) => {
  const concern = concernOf(item(given));
  expect([`${concern.subject} ${concern.text}`, concern.action.label]).toEqual([sentence, action]);
});

test("a failure is listed once: its dead letter is left out where its instance is listed", () => {
  const failed = { kind: "failed" as const, items: [item({ id: "one" })], hasMore: false };
  const letters = (...of: string[]) => ({ kind: "deadLetter" as const, items: of.map((instanceId) => item({ kind: "deadLetter", id: `letter of ${instanceId}`, instanceId })), hasMore: false });
  expect(withoutRepeats([failed, letters("one", "two")])).toEqual([failed, letters("two")]);
  expect(withoutRepeats([failed, letters("one")])).toEqual([failed]);
  expect(withoutRepeats([letters("one")])).toEqual([letters("one")]);
});

test("failures that say the same are one concern, which leads to all of them", () => {
  const one = item({ workflowId: "order", stepId: "charge", message: "declined" });
  const found = concernsOf({ items: [one, { ...one, id: "b" }, { ...one, id: "c", stepId: "ship" }], hasMore: true });
  expect(found.map(({ concern }) => [`${concern.subject} ${concern.text}`, concern.action.label])).toEqual([
    ["order failed 2 times or more at charge: declined", "See all"],
    ["order failed at ship: declined", "Retry"],
  ]);
  expect(found[0]?.concern.href).toBe("/instances?q=status%3Afailed+workflow%3Aorder");
});
