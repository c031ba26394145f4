import { expect, test } from "vitest";
import { draftEvent } from "./eventDraft";
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
