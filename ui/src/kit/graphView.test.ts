import { expect, test } from "vitest";

import type { GraphBox } from "./Graph";
import { openingView, snapped } from "./graphView";

const row = (length: number, status: (place: number) => string = () => "PENDING"): GraphBox[] =>
  Array.from({ length }, (_, place) => ({ id: `s${place}`, title: "", kind: "task", status: status(place), x: place * 236, y: 0, width: 180, height: 56 }));
const WINDOW = { width: 1000, height: 500 };
const middleOf = (boxes: GraphBox[], place: number, view: { x: number; zoom: number }) => ((boxes[place]?.x ?? 0) + 90) * view.zoom + view.x;

test("a small graph stands in the middle, at its own size", () => {
  expect(openingView(row(3), [], WINDOW, null)).toEqual({ x: 174, y: 222, zoom: 1 });
});

test.each<[string, string | null, (place: number) => string, number]>([
  ["the selected step", "s20", () => "PENDING", 500],
  ["the failed one before one that waits", null, (place) => (place === 9 ? "FAILED" : place === 4 ? "WAITING" : "PENDING"), 500],
  ["the one that waits", null, (place) => (place === 12 ? "WAITING" : place < 12 ? "COMPLETED" : "PENDING"), 500],
  ["the beginning, at the left", null, () => "PENDING", 104],
])("a wide graph is readable, and begins at %s", (_, selected, status, middle) => {
  const boxes = row(40, status);
  const view = openingView(boxes, [], WINDOW, selected);
  const place = selected === null ? Math.max(boxes.findIndex((box) => box.status === "FAILED"), boxes.findIndex((box) => box.status === "WAITING" && !boxes.some((each) => each.status === "FAILED")), 0) : 20;
  expect([view.zoom, Math.round(middleOf(boxes, place, view))]).toEqual([0.8, middle]);
});

test("a line meets the middle of a side, or the frame of a loop; points that are none are left out", () => {
  const [one, two] = row(2);
  const middle = { x: 208, y: 90 };
  expect(snapped([{ x: 170, y: 56 }, middle, { x: Number.NaN, y: 0 }, { x: 240, y: 56 }], one, two)).toEqual([{ x: 180, y: 28 }, middle, { x: 236, y: 28 }]);
  expect(snapped([{ x: 196, y: 20 }, { x: 220, y: 20 }], one, two)).toEqual([{ x: 196, y: 20 }, { x: 220, y: 20 }]);
});
