import {
  Background,
  BaseEdge,
  ControlButton,
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
import { Maximize } from "lucide-react";
import { memo, useEffect, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent, type MouseEvent } from "react";

import { shortLabel } from "../core/layout";
import { classes } from "./classes";
import { FarGraph } from "./FarGraph";
import { leads, type GraphBox, type GraphFrame, type GraphLine, type GraphProps } from "./Graph";
import styles from "./Graph.module.css";
import { boxAt } from "./graphPicture";
import { openingView, snapped, wholeView } from "./graphView";
import { StatusMark } from "./StatusBadge";
import { statusLook } from "./status";

type BoxNode = Node<{ box: GraphBox; isSelected: boolean }, "box">;
type FrameNode = Node<{ frame: GraphFrame }, "frame">;
type DrawnNode = BoxNode | FrameNode;
type Line = Edge<{ line: GraphLine; points: readonly { x: number; y: number }[] }, "line">;

/** From so far away no text of a box is read, and many boxes are in sight: they are one picture. */
const FAR = 0.5;
const NEAREST = 2;
const FARTHEST = 0.05;
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
const NO_NODES: DrawnNode[] = [];
const NO_EDGES: Line[] = [];

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
  const ways = useMemo(() => {
    const places = new Map(boxes.map((box) => [box.id, box]));
    return lines.map((line) => ({ line, points: snapped(line.points ?? [], places.get(line.source), places.get(line.target)) }));
  }, [boxes, lines]);
  const edges = useMemo(() => ways.map(({ line, points }) => edgeOf(line, points)), [ways]);
  const titles = useMemo(() => new Map(boxes.map((box) => [box.id, box.title])), [boxes]);
  const chosen = boxes.find((box) => box.id === selected);

  // The size of the window is known before anything is painted: the drawing never jumps.
  const [opening, setOpening] = useState<{ view: Viewport; least: number } | null>(null);
  useLayoutEffect(() => {
    const size = place.current?.getBoundingClientRect();
    if (size !== undefined) setOpening({ view: openingView(boxes, frames, size, selected), least: wholeView(boxes, frames, size).zoom });
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

  const showAll = () => {
    const size = place.current?.getBoundingClientRect();
    if (size !== undefined) void flow.current?.setViewport(wholeView(boxes, frames, size));
  };
  /** The box of the picture that the mouse is at. */
  const under = (event: { clientX: number; clientY: number }) => {
    const view = flow.current;
    return isFar && view !== null ? boxAt(boxes, view.screenToFlowPosition({ x: event.clientX, y: event.clientY }), view.getZoom()) : null;
  };
  const pointAt = (event: MouseEvent) => {
    const box = under(event);
    const pane = event.currentTarget as HTMLElement;
    pane.title = box === null ? "" : [box.title, box.status === undefined ? box.kind : statusLook(box.status).word, box.detail].filter(Boolean).join(" · ");
    pane.style.cursor = box === null ? "" : "pointer";
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape" && selected !== null) return onSelect?.(null);
    const next = neighbour(boxes, lines, selected, event.key);
    if (next === null) return;
    event.preventDefault();
    onSelect?.(next);
  };
  return (
    // One stop of the Tab key: arrows go along the edges, as screen readers hear below.
    <div ref={place} className={styles["canvas"]} tabIndex={0} role="application" aria-label={`${label}. Arrow keys move along the edges.`} onKeyDown={press}>
      <span className="hidden-text" aria-live="polite">
        {chosen !== undefined && `${chosen.title}, ${[chosen.kind, chosen.status === undefined ? "" : statusLook(chosen.status).word, chosen.detail ?? ""].filter(Boolean).join(", ")}, ${leads(lines, chosen.id, titles)}`}
      </span>
      {opening !== null && <ReactFlow<DrawnNode, Line>
        defaultViewport={opening.view}
        nodes={isFar ? NO_NODES : nodes}
        edges={isFar ? NO_EDGES : edges}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        onInit={(instance) => {
          flow.current = instance;
        }}
        onNodeClick={(_, node) => onSelect?.(node.type === "box" ? node.id : null)}
        onPaneClick={(event) => onSelect?.(under(event)?.id ?? null)}
        onPaneMouseMove={pointAt}
        minZoom={Math.min(FARTHEST, opening.least)}
        maxZoom={NEAREST}
        onlyRenderVisibleElements
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        disableKeyboardA11y
        zoomOnDoubleClick={false}
      >
        <Distance onChange={setIsFar} />
        {isFar ? <FarGraph boxes={boxes} lines={ways} frames={frames} selected={selected} /> : <Background gap={16} size={1} />}
        <Controls showInteractive={false} showFitView={false}>
          <ControlButton onClick={showAll} title="Fit view" aria-label="Fit view">
            <Maximize className={styles["outlined"]} />
          </ControlButton>
        </Controls>
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
