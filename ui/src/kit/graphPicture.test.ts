import { describe, expect, test } from "vitest";

import type { GraphBox } from "./Graph";
import { boxAt, lookOf, paint, pictureOf, strokeOf } from "./graphPicture";

const box = (id: string, x: number, y: number, more: Partial<GraphBox> = {}): GraphBox => ({ id, title: id, kind: "task", x, y, width: 180, height: 56, ...more });

describe("from far away", () => {
  test.each([
    ["COMPLETED", "green-soft", "green"],
    ["FAILED", "red", "red"],
    ["WAITING", "violet", "violet"],
    ["RETRYING", "amber", "amber"],
    ["PENDING", "surface-raised", "border-strong"],
    ["SOMETHING_NEW", "neutral-soft", "neutral"],
  ])("a box that is %s is %s within %s: what asks for a look is filled", (status, fill, edge) => {
    expect(lookOf(box("a", 0, 0, { status }))).toMatchObject({ fill, edge });
  });

  test("what changed, and what was taken, is seen", () => {
    expect(lookOf(box("a", 0, 0, { change: "removed" }))).toMatchObject({ edge: "red", isDashed: true });
    const line = { id: "1", source: "a", target: "b" };
    expect([strokeOf(line).role, strokeOf({ ...line, isTaken: true }).role, strokeOf({ ...line, isError: true }).role]).toEqual(["border-strong", "accent", "red"]);
    expect(strokeOf({ ...line, isTaken: false }).isDashed).toBe(true);
  });

  test("a press finds the box below it, or one that is a few pixels away", () => {
    const boxes = [box("a", 0, 0), box("b", 0, 100)];
    expect(boxAt(boxes, { x: 10, y: 10 }, 1)?.id).toBe("a");
    expect(boxAt(boxes, { x: 10, y: 80 }, 0.1)?.id).toBe("b");
    expect(boxAt(boxes, { x: 10, y: 80 }, 1)).toBeNull();
  });

  test("only what is in sight is painted", () => {
    const calls: string[] = [];
    const context = new Proxy({} as CanvasRenderingContext2D, { get: (_, name) => () => void calls.push(String(name)), set: () => true });
    const ways = [{ line: { id: "1", source: "a", target: "b" }, points: [{ x: 180, y: 28 }, { x: 300, y: 28 }] }];
    const picture = pictureOf({ boxes: [box("a", 0, 0), box("b", 300, 0), box("c", 90_000, 0)], lines: ways, frames: [], selected: null });
    expect(paint(context, picture, { x: 0, y: 0, zoom: 0.1 }, { width: 800, height: 600 }, (role) => role)).toBe(2);
    expect(calls.filter((name) => name === "lineTo")).toHaveLength(1);
  });
});
