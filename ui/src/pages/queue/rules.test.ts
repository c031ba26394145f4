import { expect, test } from "vitest";

import { EMPTY, isWhole, matchWords, missing, ruleOf, ruleWords } from "./rules";

test("only what is given is sent", () => {
  expect(ruleOf({ ...EMPTY, when: " ctx.input.a === 1 ", hold: true })).toEqual({ when: "ctx.input.a === 1", hold: true });
  expect(ruleOf({ when: "x", priority: "-3", hold: false, note: " gold " })).toEqual({ when: "x", hold: false, priority: -3, note: "gold" });
});

test("the service is asked once there is a condition and something to do", () => {
  expect(missing(EMPTY)).toContain("which instances");
  expect(missing({ ...EMPTY, when: "x" })).toContain("Give a priority");
  expect(missing({ ...EMPTY, when: "x", hold: true })).toBe("");
  expect(["", "7", "-1", "1.5", "many"].map(isWhole)).toEqual([true, true, true, false, false]);
});

test("a rule and what it would find are said in words", () => {
  expect(ruleWords({ priority: 7, hold: true })).toBe("priority 7, held back");
  expect(ruleWords({ priority: 0, hold: false })).toBe("priority 0");
  expect(matchWords({ matched: 0, examined: 0, isComplete: true })).toContain("No instance waits");
  expect(matchWords({ matched: 1, examined: 3, isComplete: true })).toBe("1 of 3 instances that wait matches. New ones that match are treated alike.");
  expect(matchWords({ matched: 0, examined: 1, isComplete: true })).toBe("None of 1 instance that waits matches. New ones that match are treated alike.");
  expect(matchWords({ matched: 2, examined: 9, isComplete: false })).toContain("Only the first ones");
});
