import { expect, test } from "vitest";

import type { Instance } from "./exporting";
import { between, rowsOf, unseen } from "./rows";

const instance = (id: string, status = "RUNNING"): Instance => ({ id, status }) as Instance;
const NONE = new Map<string, never>();

test("an instance that changed stays where it stood", () => {
  const rows = rowsOf([instance("a"), instance("b")], new Map([["b", instance("b", "COMPLETED")]]), NONE);
  expect(rows.map((row) => row.kind === "instance" && [row.item.id, row.item.status])).toEqual([
    ["a", "RUNNING"],
    ["b", "COMPLETED"],
  ]);
});

test("children stand below their open parent, as deep as they are opened", () => {
  const children = new Map([
    ["a", { items: [instance("c")], isPending: false, hasMore: false, error: null }],
    ["c", { items: [], isPending: false, hasMore: false, error: null }],
  ]);
  const rows = rowsOf([instance("a"), instance("b")], NONE, children);
  expect(rows.map((row) => `${row.depth} ${row.kind === "note" ? row.text : row.item.id}`)).toEqual(["0 a", "1 c", "2 No children", "0 b"]);
  expect(new Set(rows.map((row) => row.key)).size).toBe(rows.length);
});

test("new instances are those before the first that is known", () => {
  const known = [instance("b"), instance("a")];
  expect(unseen([instance("d"), instance("c"), instance("b")], known).map(({ id }) => id)).toEqual(["d", "c"]);
  expect(unseen(known, known)).toEqual([]);
  expect(unseen([instance("z"), instance("y")], known)).toHaveLength(2);
  // One that no longer fits the filter is missing from the beginning: that is nothing new.
  expect(unseen([instance("a")], known)).toEqual([]);
});

test("a range is the same from either end, and has instances alone", () => {
  const children = new Map([["a", { items: [], isPending: true, hasMore: false, error: null }]]);
  const rows = rowsOf([instance("a"), instance("b"), instance("c")], NONE, children);
  expect(between(rows, "a", "b")).toEqual(["a", "b"]);
  expect(between(rows, "c", "a")).toEqual(["a", "b", "c"]);
  expect(between(rows, "gone", "b")).toEqual(["b"]);
});
