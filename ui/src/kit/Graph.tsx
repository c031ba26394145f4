import { Suspense, useState } from "react";

import { classes } from "./classes";
import styles from "./Graph.module.css";
import { useKeys } from "./keys";
import { later } from "./later";
import { Loading } from "./States";
import { StatusMark } from "./StatusBadge";
import { statusLook } from "./status";

/** A node as it is drawn: everything is decided before, by pure functions. */
export interface GraphBox {
  id: string;
  title: string;
  /** The kind of node, in words. */
  kind: string;
  /** None in a graph that is not of an instance. */
  status?: string;
  /** A short line below: "attempt 2 of 5", "37 of 120". */
  detail?: string;
  /** How it differs from another version. */
  change?: "added" | "removed" | "changed";
  /** Whether it undoes another node. */
  isUndo?: boolean;
  x: number;
  y: number;
  width: number;
  height: number;
}

/** What is drawn around the nodes of a loop. */
export interface GraphFrame {
  id: string;
  title: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface GraphLine {
  id: string;
  source: string;
  target: string;
  label?: string;
  isError?: boolean;
  /** Whether the instance went this way; undefined in a graph that is not of an instance. */
  isTaken?: boolean;
  /** Whether it leads to what undoes its source. */
  isUndo?: boolean;
  /** Its way, as the layout found it; without, the line finds its own. */
  points?: readonly { x: number; y: number }[];
  change?: "added" | "removed" | "changed";
}

export interface GraphProps {
  label: string;
  boxes: readonly GraphBox[];
  lines: readonly GraphLine[];
  frames?: readonly GraphFrame[];
  selected?: string | null;
  onSelect?: (id: string | null) => void;
}

const Canvas = later(() => import("./GraphCanvas"));
/** Load the drawing before the graph is known. */
export const fetchDrawing = (): void => void Canvas.fetch();

const isNarrow = (): boolean => window.matchMedia("(max-width: 719px)").matches;

/** A graph, and the same as an outline, which comes first on a phone. The drawing is loaded when it is first shown. */
export function Graph(props: GraphProps) {
  const [isOutline, setIsOutline] = useState(isNarrow);
  useKeys([{ keys: "o", label: "Graph or outline", run: () => setIsOutline(!isOutline) }]);
  return (
    <div className={styles["graph"]}>
      <button type="button" className={styles["switch"]} onClick={() => setIsOutline(!isOutline)}>
        {isOutline ? "Show as graph" : "Show as outline"}
      </button>
      {isOutline ? (
        <Outline {...props} />
      ) : (
        <Suspense fallback={<Loading label={`Loading ${props.label}`} />}>
          <Canvas {...props} />
        </Suspense>
      )}
    </div>
  );
}

/** The graph for those who cannot see it, and on a phone: every node, what it is, and where it leads. */
export function Outline({ label, boxes, lines, selected, onSelect }: GraphProps) {
  const titles = new Map(boxes.map((box) => [box.id, box.title]));
  return (
    <ol className={styles["outline"]} aria-label={label}>
      {boxes.map((box) => (
        <li key={box.id}>
          <button
            type="button"
            className={classes(styles["entry"], box.id === selected && styles["selected"])}
            aria-pressed={box.id === selected}
            onClick={() => onSelect?.(box.id === selected ? null : box.id)}
          >
            {box.status !== undefined && <StatusMark status={box.status} />}
            <span className={styles["title"]}>{box.title}</span>
            <span className={styles["kind"]}>
              {[box.kind, box.status === undefined ? "" : statusLook(box.status).word.toLowerCase(), box.detail ?? "", box.change ?? ""].filter(Boolean).join(", ")}
            </span>
            <span className={styles["kind"]}>{leads(lines, box.id, titles)}</span>
          </button>
        </li>
      ))}
    </ol>
  );
}

/** "goes to ship, to refund when error". */
export function leads(lines: readonly GraphLine[], id: string, titles: ReadonlyMap<string, string>): string {
  const ways = lines
    .filter((line) => line.source === id)
    .map((line) => `to ${titles.get(line.target) ?? line.target}${line.label ? ` when ${line.label}` : ""}${line.isTaken === true ? " (taken)" : ""}`);
  return ways.length === 0 ? "ends here" : `goes ${ways.join(", ")}`;
}
