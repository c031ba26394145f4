import { describe, expect, test } from "vitest";

import { counted, duration, exactUtc, moment, relative, size } from "./format";

const NOW = Date.UTC(2026, 10, 16, 12, 0, 0);

describe("a duration has two units at most, and never a rounded-up unit", () => {
  test.each([
    [0, "0 ms"],
    [320.4, "320 ms"],
    [3_200, "3.2 s"],
    [9_960, "10 s"],
    [59_600, "1 m"],
    [252_000, "4 m 12 s"],
    [3_600_000, "1 h"],
    [255_600_000, "2 d 23 h"],
    [-1_500, "−1.5 s"],
  ])("%d ms is %s", (ms, said) => expect(duration(ms)).toBe(said));
});

describe("a moment names its day only where it is not today", () => {
  test.each([
    [NOW - 60_000, "11:59:00 UTC"],
    [NOW - 86_400_000, "15 Nov, 12:00:00 UTC"],
    [Date.UTC(2024, 1, 29, 23, 59, 59), "29 Feb 2024, 23:59:59 UTC"],
    [Number.NaN, "unknown"],
  ])("%d is %s", (at, said) => expect(moment(at, "utc", NOW)).toBe(said));
});

test("relative times go both ways", () => {
  expect(relative(NOW - 252_000, NOW)).toBe("4 m 12 s ago");
  expect(relative(NOW + 4_000, NOW)).toBe("in 4 s");
  expect(relative(NOW + 10, NOW)).toBe("just now");
});

test("the exact moment has milliseconds and its zone", () => {
  expect(exactUtc(NOW + 70)).toBe("2026-11-16 12:00:00.070 UTC");
});

test.each([
  [512, "512 B"],
  [3_482, "3.4 KB"],
  [1_048_576, "1.0 MB"],
])("%d bytes are %s", (bytes, said) => expect(size(bytes)).toBe(said));

test("a count agrees with its noun", () => {
  expect([counted(1, "instance"), counted(1284, "instance"), counted(2, "entry", "entries")]).toEqual([
    "1 instance",
    "1,284 instances",
    "2 entries",
  ]);
});
