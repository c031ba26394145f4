import { expect, test } from "vitest";

import { newSecret, patternsOf } from "./webhook";

test("names of events are separated by commas, spaces or lines", () => {
  expect(patternsOf(" workflow.*, order.**\npayment.received,, ")).toEqual(["workflow.*", "order.**", "payment.received"]);
  expect(patternsOf("  ")).toEqual([]);
});

test("a new secret has the form of the service's own, and 256 random bits", () => {
  expect(newSecret(crypto)).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(newSecret(crypto)).not.toBe(newSecret(crypto));
});
