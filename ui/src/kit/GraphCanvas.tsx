import {
  Background,
  BaseEdge,
  Controls,
  getSmoothStepPath,
  Handle,
  MarkerType,
  MiniMap,
  Position,
  ReactFlow,
  useStore,
  type Edge,
  type EdgeProps,
  type Node,
  type NodeProps,
  type ReactFlowInstance,
  type Viewport,
} from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { memo, useEffect, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";

import { shortLabel } from "../core/layout";
import { classes } from "./classes";
import { leads, type GraphBox, type GraphFrame, type GraphLine, type GraphProps } from "./Graph";
import styles from "./Graph.module.css";
import { openingView, snapped } from "./graphView";
import { StatusMark } from "./StatusBadge";
import { statusLook } from "./status";

type BoxNode = Node<{ box: GraphBox; isSelected: boolean }, "box">;
type FrameNode = Node<{ frame: GraphFrame }, "frame">;
type DrawnNode = BoxNode | FrameNode;
type Line = Edge<{ line: GraphLine; points: readonly { x: number; y: number }[] }, "line">;

/** From so far away no text is read. */
const FAR = 0.35;
/** So many boxes are drawn at once from far away: to add those that come into sight would cost more, in each frame of a drag. */
const MOST_BOXES = 2_000;
/** A map of the graph helps where not all of it is in sight. */
const FEW_BOXES = 8;

const Box = memo(function Box({ data: { box, isSelected } }: NodeProps<BoxNode>) {
  const look = box.status === undefined ? null : statusLook(box.status);
  return (
    <div className={classes(styles["box"], look !== null && styles[look.tone], isSelected && styles["chosen"], box.isUndo === true && styles["undo"], box.change !== undefined && styles[box.change])} style={{ width: box.width, height: box.height }}>
      {/* Without handles in the page React Flow forgets those that are given, and draws no edge. */}
      <Handle type="target" position={Position.Left} className={styles["handle"] ?? ""} isConnectable={false} />
      <div className={styles["boxHead"]}>
        {box.status !== undefined && <StatusMark status={box.status} />}
        <span className={styles["boxTitle"]} title={box.title}>
          {box.title}
        </span>
      </div>
      <div className={styles["boxKind"]}>{[look === null || box.detail === undefined ? box.kind : null, look?.word, box.detail].filter(Boolean).join(" · ")}</div>
      <Handle type="source" position={Position.Right} className={styles["handle"] ?? ""} isConnectable={false} />
    </div>
  );
});

const Frame = memo(function Frame({ data: { frame } }: NodeProps<FrameNode>) {
  return (
    <div className={styles["frame"]} style={{ width: frame.width, height: frame.height }}>
      {frame.title}
    </div>
  );
});

const LineShape = memo(function LineShape({ data, label, markerEnd, ...ends }: EdgeProps<Line>) {
  const points = data?.points ?? [];
  const [own, ownX, ownY] = getSmoothStepPath({ ...ends, borderRadius: 8 });
  const middle = points[Math.floor(points.length / 2)];
  return (
    <BaseEdge
      path={points.length > 1 ? curve(points) : own}
      label={label}
      labelX={middle?.x ?? ownX}
      labelY={middle?.y ?? ownY}
      labelBgPadding={[4, 2]}
      labelBgBorderRadius={3}
      {...(markerEnd === undefined ? {} : { markerEnd })}
    />
  );
});

/** Says whether the graph is seen from far away. */
function Distance({ onChange }: { onChange: (isFar: boolean) => void }) {
  const isFar = useStore(({ transform }) => transform[2] < FAR);
  useEffect(() => onChange(isFar), [isFar, onChange]);
  return null;
}

const NODE_TYPES = { box: Box, frame: Frame };
const EDGE_TYPES = { line: LineShape };
const NO_FRAMES: readonly GraphFrame[] = [];

export default function GraphCanvas({ label, boxes, lines, frames = NO_FRAMES, selected = null, onSelect }: GraphProps) {
  const place = useRef<HTMLDivElement>(null);
  const flow = useRef<ReactFlowInstance<DrawnNode, Line> | null>(null);
  const [isFar, setIsFar] = useState(false);
  const cache = useRef(new Map<string, BoxNode>());
  const nodes = useMemo<DrawnNode[]>(() => {
    const next = new Map(boxes.map((box) => [box.id, nodeOf(box, box.id === selected, cache.current.get(box.id))]));
    cache.current = next;
    return [...frames.map(frameOf), ...next.values()];
  }, [boxes, frames, selected]);
  const edges = useMemo(() => {
    const places = new Map(boxes.map((box) => [box.id, box]));
    return lines.map((line) => edgeOf(line, snapped(line.points ?? [], places.get(line.source), places.get(line.target))));
  }, [boxes, lines]);
  const titles = useMemo(() => new Map(boxes.map((box) => [box.id, box.title])), [boxes]);
  const chosen = boxes.find((box) => box.id === selected);

  // The size of the window is known before anything is painted: the drawing never jumps.
  const [opening, setOpening] = useState<Viewport | null>(null);
  useLayoutEffect(() => {
    if (place.current !== null) setOpening(openingView(boxes, frames, place.current.getBoundingClientRect(), selected));
  }, []);

  useEffect(() => {
    const box = boxes.find((each) => each.id === selected);
    const view = flow.current;
    if (box === undefined || view === null) return;
    const { x, y, zoom } = view.getViewport();
    const [left, top] = [box.x * zoom + x, box.y * zoom + y];
    const size = place.current?.getBoundingClientRect();
    const isInSight = size === undefined || (left >= 0 && top >= 0 && left + box.width * zoom <= size.width && top + box.height * zoom <= size.height);
    if (!isInSight) void view.setCenter(box.x + box.width / 2, box.y + box.height / 2, { zoom });
    // Only a new selection moves the view; a change of the graph never does.
  }, [selected]);

  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape" && selected !== null) return onSelect?.(null);
    const next = neighbour(boxes, lines, selected, event.key);
    if (next === null) return;
    event.preventDefault();
    onSelect?.(next);
  };
  return (
    // One stop of the Tab key: arrows go along the edges, as screen readers hear below.
    <div ref={place} className={classes(styles["canvas"], isFar && styles["far"])} tabIndex={0} role="application" aria-label={`${label}. Arrow keys move along the edges.`} onKeyDown={press}>
      <span className="hidden-text" aria-live="polite">
        {chosen !== undefined && `${chosen.title}, ${[chosen.kind, chosen.status === undefined ? "" : statusLook(chosen.status).word, chosen.detail ?? ""].filter(Boolean).join(", ")}, ${leads(lines, chosen.id, titles)}`}
      </span>
      {opening !== null && <ReactFlow<DrawnNode, Line>
        defaultViewport={opening}
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        onInit={(instance) => {
          flow.current = instance;
        }}
        onNodeClick={(_, node) => onSelect?.(node.type === "box" ? node.id : null)}
        onPaneClick={() => onSelect?.(null)}
        minZoom={0.05}
        maxZoom={2}
        onlyRenderVisibleElements={!isFar || boxes.length > MOST_BOXES}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        disableKeyboardA11y
        zoomOnDoubleClick={false}
      >
        <Distance onChange={setIsFar} />
        <Background gap={16} size={1} />
        <Controls showInteractive={false} fitViewOptions={{ maxZoom: 1, padding: 0.08 }} />
        {boxes.length > FEW_BOXES && !isFar && <MiniMap pannable zoomable style={{ width: 160, height: 90 }} ariaLabel="Map of the graph" nodeColor={(node) => colourOf(node as DrawnNode)} />}
      </ReactFlow>}
    </div>
  );
}

/** Boxes that are as they were keep their node, so that only changed ones are drawn again. */
function nodeOf(box: GraphBox, isSelected: boolean, before: BoxNode | undefined): BoxNode {
  if (before !== undefined && before.data.isSelected === isSelected && isSame(before.data.box, box)) return before;
  const { width, height } = box;
  return {
    id: box.id,
    type: "box",
    position: { x: box.x, y: box.y },
    width,
    height,
    // Boxes out of sight are not measured, and yet belong to the whole that is fitted into the window.
    measured: { width, height },
    data: { box, isSelected },
    // Known without measuring, so that edges of boxes out of sight are drawn too.
    handles: [
      { type: "target", position: Position.Left, x: 0, y: height / 2, width: 1, height: 1 },
      { type: "source", position: Position.Right, x: width, y: height / 2, width: 1, height: 1 },
    ],
  };
}

const isSame = (one: GraphBox, other: GraphBox): boolean =>
  (["title", "kind", "status", "detail", "change", "isUndo", "x", "y", "width", "height"] as const).every((field) => one[field] === other[field]);

function frameOf(frame: GraphFrame): FrameNode {
  const { x, y, width, height } = frame;
  return { id: `frame ${frame.id}`, type: "frame", position: { x, y }, width, height, measured: { width, height }, zIndex: -1, data: { frame } };
}

function edgeOf(line: GraphLine, points: readonly { x: number; y: number }[]): Line {
  const tone = line.isUndo === true ? "var(--orange)" : line.isError === true ? "var(--red)" : line.isTaken === true ? "var(--accent)" : "var(--border-strong)";
  return {
    id: line.id,
    source: line.source,
    target: line.target,
    type: "line",
    data: { line, points },
    ...(line.label === undefined ? {} : { label: shortLabel(line.label) }),
    className: classes(styles["edge"], line.isTaken === false && styles["notTaken"], line.isTaken === true && styles["taken"], line.isError === true && styles["errorEdge"], line.isUndo === true && styles["undoEdge"], line.change !== undefined && styles[line.change]),
    markerEnd: { type: MarkerType.ArrowClosed, width: 14, height: 14, color: tone },
  };
}

function colourOf(node: DrawnNode): string {
  if (node.type === "frame") return "transparent";
  const { status } = node.data.box;
  return status === undefined ? "var(--border-strong)" : `var(--${statusLook(status).tone})`;
}

/** A curve through all points, level at each of them: labels stand on it, and it meets boxes at a right angle. */
function curve([first, ...rest]: readonly { x: number; y: number }[]): string {
  if (first === undefined) return "";
  let from = first;
  const bends = rest.map((to) => {
    const reach = (to.x - from.x) / 2;
    const bend = `C ${from.x + reach} ${from.y} ${to.x - reach} ${to.y} ${to.x} ${to.y}`;
    from = to;
    return bend;
  });
  return [`M ${first.x} ${first.y}`, ...bends].join(" ");
}

/** Where an arrow key leads: along an edge, or to the next box of the same column. */
export function neighbour(boxes: readonly GraphBox[], lines: readonly GraphLine[], from: string | null, key: string): string | null {
  const here = boxes.find((box) => box.id === from);
  if (here === undefined) return key.startsWith("Arrow") ? (boxes[0]?.id ?? null) : null;
  switch (key) {
    case "ArrowRight":
      return lines.find((line) => line.source === from)?.target ?? null;
    case "ArrowLeft":
      return lines.find((line) => line.target === from)?.source ?? null;
    case "ArrowDown":
    case "ArrowUp": {
      const column = boxes.filter((box) => Math.abs(box.x - here.x) < here.width / 2).sort((one, other) => one.y - other.y);
      return column[column.indexOf(here) + (key === "ArrowDown" ? 1 : -1)]?.id ?? null;
    }
    default:
      return null;
  }
}
