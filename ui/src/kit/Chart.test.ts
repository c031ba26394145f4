import { expect, test } from "vitest";

import { runs } from "./Chart";

test("a line is broken where there is no value", () => {
  expect(runs([null, 1, 2, null, null, 3])).toEqual([
    { from: 1, values: [1, 2] },
    { from: 5, values: [3] },
  ]);
  expect(runs([null, null])).toEqual([]);
});
