import { expect, test } from "vitest";

import { meantId } from "./prefix";

const ID = "019b7d4f-1a2b-7c3d-8e4f-0123456789ab";

test("a whole id is opened, whatever its case and the space around it", () => {
  expect(meantId(` ${ID.toUpperCase()}\n`)).toEqual({ kind: "id", id: ID });
});

test("the beginning of an id is the span of time in which it was made", () => {
  const made = Number.parseInt(ID.replaceAll("-", "").slice(0, 12), 16);
  for (const length of [4, 8, 9, 13, 18, 30]) {
    const meant = meantId(ID.slice(0, length));
    if (meant?.kind !== "prefix") throw new Error(`${length}: ${JSON.stringify(meant)}`);
    expect(Date.parse(meant.createdFrom)).toBeLessThan(made);
    expect(Date.parse(meant.createdBefore)).toBeGreaterThan(made);
  }
});

test.each(["", "abc", "ORD-17", "status:failed", "order", "019b7d4f1a2b", "ffff0000", "019b7d4f 1a2b"])("%j is no id", (text) => {
  expect(meantId(text)).toBeNull();
});
