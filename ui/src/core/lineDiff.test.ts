import { expect, test } from "vitest";

import { folded, lineDiff } from "./lineDiff";

const shown = (before: string, after: string) => lineDiff(before, after).map(({ kind, text }) => `${{ same: " ", added: "+", removed: "-" }[kind]}${text}`);

test("changed lines stand between those that stayed", () => {
  expect(shown("a\nb\nc\nd\ne", "a\nB\nc\ne\nf")).toEqual([" a", "-b", "+B", " c", "-d", " e", "+f"]);
});

test("lines have their numbers in both texts", () => {
  expect(lineDiff("a\nb", "x\na\nb").map(({ before, after }) => [before, after])).toEqual([
    [null, 1],
    [1, 2],
    [2, 3],
  ]);
});

test("both texts can be read from the lines", () => {
  const random = (seed: number) => Array.from({ length: 40 }, (_, place) => "abcd"[(seed * (place + 3) * 7919) % 4]).join("\n");
  for (let seed = 1; seed < 30; seed += 1) {
    const [before, after] = [random(seed), random(seed + 1)];
    const lines = lineDiff(before, after);
    expect(lines.filter(({ kind }) => kind !== "added").map(({ text }) => text).join("\n")).toBe(before);
    expect(lines.filter(({ kind }) => kind !== "removed").map(({ text }) => text).join("\n")).toBe(after);
  }
});

test("far from changes, lines are left out", () => {
  const before = Array.from({ length: 20 }, (_, place) => `line ${place}`);
  const after = before.with(10, "other");
  const parts = folded(lineDiff(before.join("\n"), after.join("\n")));
  expect(parts.map((part) => ("hidden" in part ? -part.hidden.length : part.lines.length))).toEqual([-7, 8, -6]);
});

test("texts too large to compare line by line are shown as replaced", () => {
  const text = (name: string) => Array.from({ length: 3_000 }, (_, place) => `${name} ${place}`).join("\n");
  const kinds = lineDiff(text("a"), text("b")).map(({ kind }) => kind);
  expect(kinds.length).toBe(6_000);
  expect(new Set(kinds)).toEqual(new Set(["removed", "added"]));
});
