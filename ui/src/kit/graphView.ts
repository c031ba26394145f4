/** Where a drawing of a graph begins, and where its lines meet their boxes. */

import type { GraphBox, GraphFrame } from "./Graph";
import { statusLook, type Tone } from "./status";

interface Size {
  width: number;
  height: number;
}

interface Point {
  x: number;
  y: number;
}

type Rectangle = Point & Size;

const MARGIN = 32;
/** Below it, text is too small to be read. */
const READABLE = 0.68;
/** The scale of a graph that does not fit. */
const IN_PART = 0.8;
/** What asks for a look first. */
const URGENT: readonly Tone[] = ["red", "amber", "violet", "blue"];

/** The whole graph where its text can be read then; else readable, with what is selected or under way in sight. */
export function openingView(boxes: readonly GraphBox[], frames: readonly GraphFrame[], window: Size, selected: string | null): Point & { zoom: number } {
  if (boxes.length === 0) return { x: 0, y: 0, zoom: 1 };
  const whole = extent([...boxes, ...frames]);
  const fitting = wholeView(boxes, frames, window).zoom;
  const zoom = fitting < READABLE ? IN_PART : fitting;
  const focus = boxes.find((box) => box.id === selected) ?? underWay(boxes) ?? (boxes[0] as GraphBox);
  const along = (start: number, length: number, room: number, middle: number): number => {
    const space = room - length * zoom;
    if (space >= 2 * MARGIN) return space / 2 - start * zoom;
    const wanted = room / 2 - middle * zoom;
    return Math.min(Math.max(wanted, room - MARGIN - (start + length) * zoom), MARGIN - start * zoom);
  };
  return {
    x: along(whole.x, whole.width, window.width, focus.x + focus.width / 2),
    y: along(whole.y, whole.height, window.height, focus.y + focus.height / 2),
    zoom,
  };
}

/** All of the graph, in the middle. */
export function wholeView(boxes: readonly GraphBox[], frames: readonly GraphFrame[], window: Size): Point & { zoom: number } {
  if (boxes.length === 0) return { x: 0, y: 0, zoom: 1 };
  const whole = extent([...boxes, ...frames]);
  const zoom = Math.min((window.width - 2 * MARGIN) / whole.width, (window.height - 2 * MARGIN) / whole.height, 1);
  return { x: (window.width - whole.width * zoom) / 2 - whole.x * zoom, y: (window.height - whole.height * zoom) / 2 - whole.y * zoom, zoom };
}

function underWay(boxes: readonly GraphBox[]): GraphBox | undefined {
  const tones = new Map(boxes.map((box) => [box, box.status === undefined ? null : statusLook(box.status).tone]));
  return URGENT.map((tone) => boxes.find((box) => tones.get(box) === tone)).find((box) => box !== undefined);
}

function extent(all: readonly Rectangle[]): Rectangle {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const { x, y, width, height } of all) {
    [left, top] = [Math.min(left, x), Math.min(top, y)];
    [right, bottom] = [Math.max(right, x + width), Math.max(bottom, y + height)];
  }
  return { x: left, y: top, width: right - left, height: bottom - top };
}

/** The way of a line from the middle of a side to the middle of a side: a layout ends it anywhere on the border of a box, also at a corner. */
export function snapped(points: readonly Point[], source: Rectangle | undefined, target: Rectangle | undefined): Point[] {
  const way = points.filter(({ x, y }) => Number.isFinite(x) && Number.isFinite(y));
  const [first, last] = [way[0], way.at(-1)];
  // What leads to or from the frame of a loop ends at the frame, away from the box.
  if (first !== undefined && source !== undefined && touches(source, first)) way[0] = { x: source.x + source.width, y: source.y + source.height / 2 };
  if (last !== undefined && target !== undefined && touches(target, last)) way[way.length - 1] = { x: target.x, y: target.y + target.height / 2 };
  return way;
}

const touches = ({ x, y, width, height }: Rectangle, point: Point): boolean =>
  point.x >= x - 1 && point.x <= x + width + 1 && point.y >= y - 1 && point.y <= y + height + 1;
