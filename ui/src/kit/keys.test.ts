import { expect, test } from "vitest";

import { pressed, type Shortcut } from "./keys";

const key = (keys: string): Shortcut => ({ keys, label: keys, run: () => undefined });
const known = [key("g i"), key("g e"), key("e"), key("?")];

test.each([
  [null, "?", "?"],
  [null, "g", "begun"],
  ["g", "i", "g i"],
  ["g", "e", "g e"],
  ["g", "?", "?"],
  [null, "i", null],
])("after %s the key %s means %s", (before, pressedKey, meant) => {
  const found = pressed(known, before, pressedKey);
  expect(typeof found === "object" ? (found?.keys ?? null) : found).toBe(meant);
});

test("the newest of two shortcuts with one key is meant", () => {
  const [older, newer] = [key("o"), key("o")];
  expect(pressed([older, newer], null, "o")).toBe(newer);
});
