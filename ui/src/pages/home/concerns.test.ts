import { expect, test } from "vitest";

import { concernOf, type Item } from "./concerns";

const item = (given: Partial<Item>): Item => ({ kind: "failed", id: "019b", at: null, message: "", ...given });

test.each<[Partial<Item>, string, string]>([
  [{ workflowId: "order", stepId: "charge", message: "card declined\ntrace" }, "order failed at charge: card declined", "Retry"],
  [{ kind: "deadLetter", stepId: "charge", message: "x" }, "charge is in dead letters: x", "Handle"],
  [{ kind: "approval", workflowId: "expenses", stepId: "review" }, "expenses waits for a decision that is overdue, at review", "Decide"],
  [{ kind: "breaker", id: "mail", message: "5 failed" }, "Breaker of mail is open: 5 failed", "See task"],
  [{ kind: "webhook", id: "w1", message: "" }, "Webhook w1 does not get through: without a message", "See deliveries"],
  [{ kind: "later" as "failed", message: "new" }, "later new", "Look"],
])("%j is one sentence with one action", (given, sentence, action) => {
  const concern = concernOf(item(given));
  expect([`${concern.subject} ${concern.text}`, concern.action.label]).toEqual([sentence, action]);
});
