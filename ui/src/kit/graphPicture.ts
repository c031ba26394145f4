/** A graph from far away, painted on one canvas: a thousand boxes of the page would take longer than a frame. */

import type { GraphBox, GraphFrame, GraphLine } from "./Graph";
import { MARKS, statusLook } from "./status";

export interface View {
  x: number;
  y: number;
  zoom: number;
}

interface Point {
  x: number;
  y: number;
}

interface Area {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** The value of a role of colours, such as "red" or "surface-raised". */
export type Palette = (role: string) => string;

/** Roles of colours of a box. */
export interface BoxLook {
  fill: string;
  edge: string;
  mark: string;
  isDashed: boolean;
}

/** What has gone well, or has yet to come, is light; what asks for a look is filled: shape and lightness tell them apart without colours. */
export function lookOf(box: GraphBox): BoxLook {
  const isDashed = box.isUndo === true;
  if (box.change !== undefined) {
    const tone = { added: "green", removed: "red", changed: "amber" }[box.change];
    return { fill: `${tone}-soft`, edge: tone, mark: tone, isDashed: box.change === "removed" };
  }
  if (box.status === undefined) return { fill: "surface-raised", edge: "border-strong", mark: "text-muted", isDashed };
  const { tone, mark } = statusLook(box.status);
  if (mark === "hollow") return { fill: "surface-raised", edge: "border-strong", mark: tone, isDashed };
  if (tone === "green" || tone === "neutral" || tone === "slate") return { fill: `${tone}-soft`, edge: tone, mark: tone, isDashed };
  return { fill: tone, edge: tone, mark: "surface", isDashed };
}

interface Stroke {
  role: string;
  width: number;
  isDashed: boolean;
}

export function strokeOf(line: GraphLine): Stroke {
  const { change } = line;
  if (change !== undefined) return { role: { added: "green", removed: "red", changed: "amber" }[change], width: 1.5, isDashed: change === "removed" };
  if (line.isUndo === true) return { role: "orange", width: 1, isDashed: true };
  if (line.isError === true) return { role: "red", width: 1, isDashed: line.isTaken === false };
  if (line.isTaken === true) return { role: "accent", width: 1.5, isDashed: false };
  return { role: "border-strong", width: 1, isDashed: line.isTaken === false };
}

interface Way extends Area {
  points: readonly Point[];
}

interface Picture {
  boxes: readonly { box: GraphBox; look: BoxLook; sign: Path2D | null }[];
  frames: readonly GraphFrame[];
  /** Lines of one look are one stroke of the pen. */
  strokes: readonly { stroke: Stroke; ways: readonly Way[] }[];
  selected: GraphBox | undefined;
}

export interface Drawing {
  boxes: readonly GraphBox[];
  lines: readonly { line: GraphLine; points: readonly Point[] }[];
  frames: readonly GraphFrame[];
  selected: string | null;
}

const signs = new Map<string, Path2D>();

function signOf(status: string): Path2D {
  const { mark } = statusLook(status);
  const known = signs.get(mark) ?? new Path2D(MARKS[mark]);
  signs.set(mark, known);
  return known;
}

/** What is the same in every frame. */
export function pictureOf({ boxes, lines, frames, selected }: Drawing): Picture {
  const strokes = new Map<string, { stroke: Stroke; ways: Way[] }>();
  for (const { line, points } of lines) {
    if (points.length < 2) continue;
    const stroke = strokeOf(line);
    const key = JSON.stringify(stroke);
    const group = strokes.get(key) ?? { stroke, ways: [] };
    group.ways.push({ points, ...around(points) });
    strokes.set(key, group);
  }
  return {
    boxes: boxes.map((box) => ({ box, look: lookOf(box), sign: box.status === undefined ? null : signOf(box.status) })),
    frames,
    // What was gone is painted over what was not.
    strokes: [...strokes.values()].sort((one, other) => one.stroke.width - other.stroke.width),
    selected: boxes.find((box) => box.id === selected),
  };
}

/** From these heights of a box on, its mark and its title are seen. */
const MARK_FROM = 9;
const TITLE_FROM = 15;
const SIZE = 11;
/** About the width of a letter of that size. */
const LETTER = 6;

/** Paint what is in sight; returns how many boxes that are. */
export function paint(context: CanvasRenderingContext2D, picture: Picture, view: View, size: { width: number; height: number }, colour: Palette): number {
  const { x, y, zoom } = view;
  const seen = { left: -x / zoom, top: -y / zoom, right: (size.width - x) / zoom, bottom: (size.height - y) / zoom };
  context.clearRect(0, 0, size.width, size.height);
  context.lineWidth = 1;
  context.setLineDash([4, 3]);
  context.strokeStyle = colour("border-strong");
  for (const frame of picture.frames) {
    if (isSeen(seen, areaOf(frame))) context.strokeRect(frame.x * zoom + x, frame.y * zoom + y, frame.width * zoom, frame.height * zoom);
  }
  for (const { stroke, ways } of picture.strokes) {
    context.beginPath();
    for (const way of ways) if (isSeen(seen, way)) trace(context, way.points, view);
    context.strokeStyle = colour(stroke.role);
    context.lineWidth = stroke.width;
    context.setLineDash(stroke.isDashed ? [3, 3] : []);
    context.stroke();
  }
  const shown = picture.boxes.filter(({ box }) => isSeen(seen, areaOf(box)));
  context.lineWidth = 1;
  for (const { box, look } of shown) {
    const [left, top, width, height] = [box.x * zoom + x, box.y * zoom + y, Math.max(box.width * zoom, 3), Math.max(box.height * zoom, 3)];
    context.fillStyle = colour(look.edge);
    context.fillRect(left, top, width, height);
    if (look.fill === look.edge) continue;
    context.fillStyle = colour(look.fill);
    context.fillRect(left + 1, top + 1, width - 2, height - 2);
  }
  context.setLineDash([]);
  for (const { box, look, sign } of shown) {
    const [left, middle, height] = [box.x * zoom + x, (box.y + box.height / 2) * zoom + y, box.height * zoom];
    if (sign !== null && height >= MARK_FROM) writeSign(context, sign, left + 2, middle, Math.min(height - 2, 14), colour(look.mark));
    if (height >= TITLE_FROM) writeTitle(context, box, left + (sign === null ? 5 : 19), middle, box.width * zoom - (sign === null ? 9 : 22), colour(look.mark === "surface" ? "surface" : "text"));
  }
  const { selected } = picture;
  if (selected !== undefined) {
    context.strokeStyle = colour("focus");
    context.lineWidth = 2.5;
    context.strokeRect(selected.x * zoom + x - 3, selected.y * zoom + y - 3, selected.width * zoom + 6, selected.height * zoom + 6);
  }
  return shown.length;
}

function writeSign(context: CanvasRenderingContext2D, sign: Path2D, left: number, middle: number, height: number, colour: string): void {
  const scale = height / 16;
  context.save();
  context.translate(left, middle - height / 2);
  context.scale(scale, scale);
  context.strokeStyle = colour;
  context.lineWidth = 1.6 / scale;
  context.stroke(sign);
  context.restore();
}

function writeTitle(context: CanvasRenderingContext2D, { title }: GraphBox, left: number, middle: number, room: number, colour: string): void {
  const letters = Math.floor(room / LETTER);
  if (letters < 2) return;
  context.fillStyle = colour;
  context.font = `${SIZE}px ${context.canvas.dataset["font"] ?? "sans-serif"}`;
  context.textBaseline = "middle";
  context.fillText(title.length > letters ? `${title.slice(0, letters - 1)}…` : title, left, middle);
}

/** A curve through all points, level at each of them: labels stand on it, and it meets boxes at a right angle. */
function trace(context: CanvasRenderingContext2D, points: readonly Point[], { x, y, zoom }: View): void {
  let from: Point | null = null;
  for (const point of points) {
    const to = { x: point.x * zoom + x, y: point.y * zoom + y };
    if (from === null) context.moveTo(to.x, to.y);
    // A bend of a few pixels is a line.
    else if (Math.abs(to.y - from.y) < 2) context.lineTo(to.x, to.y);
    else {
      const reach = (to.x - from.x) / 2;
      context.bezierCurveTo(from.x + reach, from.y, to.x - reach, to.y, to.x, to.y);
    }
    from = to;
  }
}

const areaOf = ({ x, y, width, height }: Point & { width: number; height: number }): Area => ({ left: x, top: y, right: x + width, bottom: y + height });

function around(points: readonly Point[]): Area {
  const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)];
  return { left: Math.min(...xs), top: Math.min(...ys), right: Math.max(...xs), bottom: Math.max(...ys) };
}

const isSeen = (window: Area, area: Area): boolean =>
  area.right >= window.left && area.left <= window.right && area.bottom >= window.top && area.top <= window.bottom;

const NEAR = 4;

/** The box at a place of the graph; where boxes are a few pixels high, the nearest within a few pixels. */
export function boxAt(boxes: readonly GraphBox[], { x, y }: Point, zoom: number): GraphBox | null {
  let found: GraphBox | null = null;
  let least = NEAR / zoom;
  for (const box of boxes) {
    const away = Math.max(box.x - x, x - box.x - box.width, box.y - y, y - box.y - box.height);
    if (away <= 0) return box;
    if (away < least) [found, least] = [box, away];
  }
  return found;
}
