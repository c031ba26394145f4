import { expect, test } from "vitest";

import { storeWords } from "./health";

test("the health of the store is said in words", () => {
  const store = { kind: "sqlite", isAvailable: true, isShared: false, milliseconds: 2 };
  expect(storeWords(store)).toEqual({ tone: "green", text: "The store (SQLite) answers in 2 ms; it belongs to one process." });
  expect(storeWords({ ...store, milliseconds: 900 }).tone).toBe("amber");
  expect(storeWords({ ...store, kind: "memory" }).tone).toBe("amber");
  expect(storeWords({ ...store, isAvailable: false }).tone).toBe("red");
  expect(storeWords({ ...store, kind: "constructor" }).text).toContain("(constructor)");
});
