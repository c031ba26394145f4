import { expect, test } from "vitest";

import { readSearch } from "../../core/search";
import { isConfirmed, reachOf } from "./bulk";

const filtered = (text: string) => ({ kind: "filter" as const, params: readSearch(text, new Date("2026-11-17T10:00:00Z")).params });

test("an action reaches those of the filter in whose status it is possible", () => {
  expect(reachOf("retry", filtered("workflow:order")).filter).toEqual({ workflowId: "order", roots: true, status: ["FAILED"] });
  expect(reachOf("cancel", filtered("status:failed,paused event:a.b")).filter).toEqual({ waitingFor: "a.b", roots: true, status: ["PAUSED"] });
  expect(reachOf("resume", filtered("status:failed")).params).toBeNull();
});

test("what the operation cannot filter by is listed first", () => {
  const { filter, params } = reachOf("retry", filtered("workflow:order var.region=eu"));
  expect(filter).toBeNull();
  expect(params).toEqual({ workflowId: "order", roots: true, variables: '{"region":"eu"}', status: "FAILED" });
});

test("rows that were selected are named by their ids", () => {
  expect(reachOf("pause", { kind: "ids", ids: ["a", "b"] }).filter).toEqual({ ids: ["a", "b"], status: ["CREATED", "RUNNING", "WAITING_FOR_EVENT"] });
});

test.each([
  [50, "", true],
  [51, "", false],
  [1284, "1284", true],
  [1284, "1,284", true],
  [1284, "128", false],
])("%d instances are confirmed by %j: %s", (count, typed, isSo) => {
  expect(isConfirmed(count, typed)).toBe(isSo);
});
