import { expect, test } from "vitest";

import { noteServiceTime, serviceNow } from "./clock";

const NOW = Date.parse("2026-03-01T12:00:00.400Z");

test("the time of the service counts, where the viewer's clock is wrong", () => {
  noteServiceTime("Sun, 01 Mar 2026 11:00:00 GMT", NOW);
  expect(serviceNow(NOW)).toBe(Date.parse("2026-03-01T11:00:00.500Z"));
  noteServiceTime(null, NOW);
  noteServiceTime("no date", NOW);
  expect(serviceNow(NOW)).toBe(Date.parse("2026-03-01T11:00:00.500Z"));
});

test("a difference that may be the way of an answer is none", () => {
  noteServiceTime("Sun, 01 Mar 2026 12:00:02 GMT", NOW);
  expect(serviceNow(NOW)).toBe(NOW);
});
