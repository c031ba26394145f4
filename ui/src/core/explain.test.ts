import { expect, test } from "vitest";

import { explanationOf, remediesOf } from "./explain";

const remedies = (...causes: object[]) => remediesOf(explanationOf({ summary: "", causes })).map(({ kind, label }) => [kind, label]);

test("a queued instance leads to the queue, and a step that waits for a thread does not", () => {
  expect(remedies({ kind: "slot", message: "position 3 of 9", details: { position: 3, limit: "global" } })).toEqual([["queue", "See the queue"]]);
  expect(remedies({ kind: "slot", message: "attempt 1 waits for a thread", details: { taskId: "work" } })).toEqual([]);
});

test("a step without its mutex leads to the instance that has it", () => {
  const holders = [{ instanceId: "i-1", stepId: "print" }];
  expect(remedies({ kind: "mutex", message: "position 1 of 1", stepId: "print", details: { mutex: "m", holders } })).toEqual([["child", "Open the holder"]]);
  expect(remedies({ kind: "mutex", message: "it waits", stepId: "print", details: { mutex: "m" } })).toEqual([]);
});
