import { expect, test } from "vitest";

import { configOf } from "./wish";

test("a config has what its type knows, and nothing else", () => {
  const wish = { path: " output.rows ", format: "percent", names: "a, b.c,", x: "day" };
  expect(configOf({ ...wish, type: "number" })).toEqual({ path: "output.rows", format: "percent" });
  expect(configOf({ ...wish, type: "text" })).toEqual({ path: "output.rows" });
  expect(configOf({ ...wish, type: "table" })).toEqual({ path: "output.rows", columns: ["a", "b.c"] });
  expect(configOf({ ...wish, type: "chart" })).toEqual({ path: "output.rows", y: ["a", "b.c"], x: "day" });
});
