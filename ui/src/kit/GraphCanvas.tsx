import {
  Background,
  Controls,
  Handle,
  MarkerType,
  MiniMap,
  Position,
  ReactFlow,
  type Edge,
  type Node,
  type NodeProps,
  type ReactFlowInstance,
} from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { memo, useEffect, useMemo, useRef, type KeyboardEvent } from "react";

import { classes } from "./classes";
import { leads, type GraphBox, type GraphLine, type GraphProps } from "./Graph";
import styles from "./Graph.module.css";
import { StatusMark } from "./StatusBadge";
import { statusLook } from "./status";

type BoxNode = Node<{ box: GraphBox; isSelected: boolean }, "box">;

/** A map of the graph helps where not all of it is in sight. */
const FEW_BOXES = 25;

const Box = memo(function Box({ data: { box, isSelected } }: NodeProps<BoxNode>) {
  const look = box.status === undefined ? null : statusLook(box.status);
  return (
    <div className={classes(styles["box"], look !== null && styles[look.tone], isSelected && styles["chosen"], box.change !== undefined && styles[box.change])} style={{ width: box.width, height: box.height }}>
      <Handle type="target" position={Position.Left} className={styles["handle"] ?? ""} isConnectable={false} />
      <div className={styles["boxHead"]}>
        {box.status !== undefined && <StatusMark status={box.status} />}
        <span className={styles["boxTitle"]} title={box.title}>
          {box.title}
        </span>
      </div>
      <div className={styles["boxKind"]}>{[box.kind, look?.word, box.detail].filter(Boolean).join(" · ")}</div>
      <Handle type="source" position={Position.Right} className={styles["handle"] ?? ""} isConnectable={false} />
    </div>
  );
});

const NODE_TYPES = { box: Box };

export default function GraphCanvas({ label, boxes, lines, selected = null, onSelect }: GraphProps) {
  const flow = useRef<ReactFlowInstance<BoxNode, Edge> | null>(null);
  const cache = useRef(new Map<string, BoxNode>());
  const nodes = useMemo(() => {
    const next = new Map(boxes.map((box) => [box.id, nodeOf(box, box.id === selected, cache.current.get(box.id))]));
    cache.current = next;
    return [...next.values()];
  }, [boxes, selected]);
  const edges = useMemo(() => lines.map(edgeOf), [lines]);
  const titles = useMemo(() => new Map(boxes.map((box) => [box.id, box.title])), [boxes]);
  const chosen = boxes.find((box) => box.id === selected);

  useEffect(() => {
    const box = boxes.find((each) => each.id === selected);
    const view = flow.current;
    if (box === undefined || view === null) return;
    const { x, y, zoom } = view.getViewport();
    const [left, top] = [box.x * zoom + x, box.y * zoom + y];
    const size = document.getElementById("graph-canvas")?.getBoundingClientRect();
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
    <div id="graph-canvas" className={styles["canvas"]} tabIndex={0} role="application" aria-label={`${label}. Arrow keys move along the edges.`} onKeyDown={press}>
      <span className="hidden-text" aria-live="polite">
        {chosen !== undefined && `${chosen.title}, ${[chosen.kind, chosen.status === undefined ? "" : statusLook(chosen.status).word, chosen.detail ?? ""].filter(Boolean).join(", ")}, ${leads(lines, chosen.id, titles)}`}
      </span>
      <ReactFlow<BoxNode, Edge>
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        onInit={(instance) => {
          flow.current = instance;
        }}
        onNodeClick={(_, node) => onSelect?.(node.id)}
        onPaneClick={() => onSelect?.(null)}
        fitView
        fitViewOptions={{ maxZoom: 1, padding: 0.12 }}
        minZoom={0.05}
        maxZoom={2}
        onlyRenderVisibleElements
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        disableKeyboardA11y
        zoomOnDoubleClick={false}
      >
        <Background gap={16} size={1} />
        <Controls showInteractive={false} />
        {boxes.length > FEW_BOXES && <MiniMap pannable zoomable ariaLabel="Map of the graph" nodeColor={(node) => colourOf((node as BoxNode).data.box)} />}
      </ReactFlow>
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
    data: { box, isSelected },
    // Known without measuring, so that edges of boxes out of sight are drawn too.
    handles: [
      { type: "target", position: Position.Left, x: 0, y: height / 2, width: 1, height: 1 },
      { type: "source", position: Position.Right, x: width, y: height / 2, width: 1, height: 1 },
    ],
  };
}

const isSame = (one: GraphBox, other: GraphBox): boolean =>
  (["title", "kind", "status", "detail", "change", "x", "y", "width", "height"] as const).every((field) => one[field] === other[field]);

function edgeOf(line: GraphLine): Edge {
  const tone = line.isError === true ? "var(--red)" : line.isTaken === true ? "var(--accent)" : "var(--border-strong)";
  return {
    id: line.id,
    source: line.source,
    target: line.target,
    type: "smoothstep",
    ...(line.label === undefined ? {} : { label: line.label }),
    className: classes(styles["edge"], line.isTaken === false && styles["notTaken"], line.isTaken === true && styles["taken"], line.isError === true && styles["errorEdge"], line.change !== undefined && styles[line.change]),
    markerEnd: { type: MarkerType.ArrowClosed, width: 14, height: 14, color: tone },
  };
}

const colourOf = (box: GraphBox): string => (box.status === undefined ? "var(--border-strong)" : `var(--${statusLook(box.status).tone})`);

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
