import { expect, test } from "vitest";

import { aboutWords, paceOf, progressWords, statusOf, totalOf, type Operation } from "./words";

const RUNNING: Operation = {
  id: "a",
  action: "retry",
  target: "instances",
  status: "running",
  matched: 420,
  done: 400,
  failed: 12,
  failures: [],
  createdAt: "2026-11-17T10:00:00.000Z",
  endedAt: null,
  requestedBy: "ana",
};
const NOW = Date.parse("2026-11-17T10:00:05.000Z");

test("a running operation says how far, how fast and how long", () => {
  const total = totalOf(RUNNING, 1_284);
  expect(progressWords(RUNNING, total, paceOf(RUNNING, total, NOW))).toBe("412 of 1,284, 82/s, about 11 s left");
});

test("without a count the total is not known until it has ended", () => {
  expect(totalOf(RUNNING, null)).toBeNull();
  expect(totalOf({ ...RUNNING, status: "done" }, null)).toBe(420);
  expect(progressWords(RUNNING, null, null)).toBe("412 records");
});

test("more may be found than were counted", () => {
  expect(totalOf(RUNNING, 400)).toBe(420);
});

test("an end with failures is no plain success", () => {
  expect(statusOf({ status: "done", failed: 1 })).toBe("COMPLETED_WITH_ERRORS");
  expect(statusOf({ status: "done", failed: 0 })).toBe("COMPLETED");
  expect(statusOf({ status: "cancelled", failed: 0 })).toBe("CANCELLED");
});

test("a clock that is behind gives no rate", () => {
  expect(paceOf(RUNNING, 1_284, NOW - 60_000)).toBeNull();
});

test("a stopped operation says by whom", () => {
  expect(aboutWords({ ...RUNNING, status: "cancelled", stoppedBy: "ben" })).toBe("It was stopped by ben: what was done stays done.");
  expect(aboutWords({ ...RUNNING, stoppedBy: "ben" })).toContain("being stopped by ben");
  expect(aboutWords({ ...RUNNING, status: "cancelled", stoppedBy: null })).toBe("It was stopped: what was done stays done.");
});
