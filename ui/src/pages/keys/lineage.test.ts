import { expect, test } from "vitest";

import { fallsWith } from "./lineage";

const key = (id: string, createdBy: string, state = "active") => ({ id, createdBy, state });

test("a revoked key takes all that were made by it along, and by those", () => {
  const keys = [key("a", "local"), key("b", "key:a"), key("c", "key:b"), key("d", "local"), key("e", "key:a", "revoked"), key("f", "key:e")];
  expect(fallsWith(keys, "a").map(({ id }) => id)).toEqual(["b", "c", "f"]);
  expect(fallsWith(keys, "d")).toEqual([]);
});

test("keys that claim to have made each other are followed once", () => {
  expect(fallsWith([key("a", "key:b"), key("b", "key:a")], "a").map(({ id }) => id)).toEqual(["b"]);
});
