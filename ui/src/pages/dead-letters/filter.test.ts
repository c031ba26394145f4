import { expect, test } from "vitest";

import { decode, encode } from "../../core/url";
import { asked, causeOf, errorOf, FILTER, kindWords } from "./filter";

test("the filter of a cause survives its address, also where the error has no code", () => {
  for (const code of ["CARD_DECLINED", null]) {
    const filter = causeOf({ kind: "task-failed", code, workflowId: "order & co", stepId: "charge" });
    expect(decode(FILTER, encode(FILTER, filter))).toEqual(filter);
    expect(asked(filter)).toEqual({ kind: "task-failed", code: code ?? "", workflowId: "order & co", stepId: "charge" });
  }
});

test("letters of an erased instance are asked for without a workflow", () => {
  expect(asked(causeOf({ kind: "k", code: "C", workflowId: null, stepId: "s" }))).toEqual({ kind: "k", code: "C", stepId: "s" });
});

test("errors of any shape and unknown kinds are shown as they are", () => {
  expect(errorOf({ code: "C", message: "m" })).toEqual({ code: "C", message: "m" });
  expect(errorOf({ code: 7 })).toEqual({ code: null, message: null });
  expect(errorOf("text")).toEqual({ code: null, message: "text" });
  expect(errorOf(null)).toEqual({ code: null, message: null });
  expect(kindWords("constructor")).toBe("constructor");
});
