import { expect, test } from "vitest";

import { asCsv, asJson, firstErrorLine, type Instance } from "./exporting";

const ITEM: Instance = {
  id: "019b7d4f-1a2b-7c3d-8e4f-0123456789ab",
  workflowDefinitionId: "order",
  definitionVersion: 2,
  status: "FAILED",
  correlationId: '=HYPERLINK("http://x")',
  currentSteps: ["charge", "ship"],
  priority: 0,
  deadline: null,
  createdAt: "2026-11-17T10:00:00.000Z",
  updatedAt: "2026-11-17T10:00:01.000Z",
  startedAt: "2026-11-17T10:00:00.000Z",
  completedAt: null,
  output: null,
  lastError: { code: "CARD", message: 'declined, "again"\nat line 2' },
  cancellation: null,
  rootId: "019b7d4f-1a2b-7c3d-8e4f-0123456789ab",
  tenant: "default",
};

test("a cell of CSV is quoted where it must be, and is never a formula", () => {
  expect(asCsv([ITEM]).split("\r\n")[1]).toBe(
    `${ITEM.id},order,2,FAILED,"'=HYPERLINK(""http://x"")",charge ship,${ITEM.createdAt},${ITEM.startedAt},,"CARD: declined, ""again""",`,
  );
});

test("JSON has the instances as the service answers them", () => {
  expect(JSON.parse(asJson([ITEM]))).toEqual([ITEM]);
});

test.each([
  [{ code: "A", message: "one\ntwo" }, "A: one"],
  [{ message: "one" }, "one"],
  [null, null],
  ["text", null],
  [{ code: 3, message: [] }, null],
])("the first line of the error %j is %j", (lastError, line) => {
  expect(firstErrorLine({ lastError })).toBe(line);
});
