import { describe, expect, test } from "vitest";
import { corrected, draftEvent } from "./eventDraft";
import { atWait } from "./eventReach";
import { blank } from "./fold";

const STATE = { ...blank("the-id"), input: { orderId: "A1", customer: { id: 7 } } };
STATE.variables.set("paid", { value: { amount: 5 }, step: "pay", iteration: "", attempt: 1, seq: 4, before: [] });

test.each([
  [null, {}, []],
  ["event.payload.orderId === workflow.input.orderId", { orderId: "A1" }, []],
  ["(event.payload.a.b == ctx.input.customer.id) && 'x' === event?.payload?.kind", { a: { b: 7 }, kind: "x" }, []],
  ["event.payload.amount === ctx.paid.amount && event.payload.ok === true", { amount: 5, ok: true }, []],
  ["event.payload.instance === workflow.instance.id", { instance: "the-id" }, []],
  ["event.payload.amount > 5", {}, ["event.payload.amount > 5"]],
  ["event.payload.a === ctx.nothing.there", {}, ["event.payload.a === ctx.nothing.there"]],
  ["event.payload.a === 1 || event.payload.b === 2", {}, ["event.payload.a === 1 || event.payload.b === 2"]],
  ["event.payload.__proto__ === 1 &&", {}, []],
])("%s", (condition, payload, open) => {
  expect(draftEvent("paid", condition, STATE)).toEqual({ pattern: "paid", payload, open });
});

describe("the event that a wait needs", () => {
  const failedParts = [
    { expression: "event.payload.orderId === workflow.input.orderId", left: null, right: "A1" },
    { expression: "event.correlationId === correlationId", left: null, right: "C1" },
    { expression: "event.payload.total > 3", left: 1, right: 3 },
  ];

  test("equalities that were false are corrected, and nothing else is guessed", () => {
    expect(corrected({ payload: { total: 1 }, correlationId: null }, failedParts)).toEqual({ payload: { total: 1, orderId: "A1" }, correlationId: "C1" });
  });

  test("a dry run says whether it reaches this wait of this instance", () => {
    const place = { instanceId: "i", stepId: "paid", iteration: "" };
    const wait = { instance: "i", step: "paid", iteration: "" };
    expect(atWait({ nearMisses: [{ ...place, failed: failedParts }] }, "nearMisses", wait)?.failed).toEqual(failedParts);
    expect(atWait({ nearMisses: [{ ...place, instanceId: "j", failed: [] }] }, "nearMisses", wait)).toBeNull();
    expect(atWait({ targets: [place] }, "targets", wait)).not.toBeNull();
    expect(atWait({ targets: [{ ...place, iteration: "2" }] }, "targets", wait)).toBeNull();
  });
});
