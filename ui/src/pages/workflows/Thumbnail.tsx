import { useMemo } from "react";

import type { Graph } from "../../core/graph";
import { counted } from "../../core/format";
import { layoutOf } from "../../core/layout";
import { classes } from "../../kit/classes";
import styles from "./Thumbnail.module.css";

/** A larger graph would be dust. */
const MOST_STEPS = 60;
/** The least that the picture shows, so that one step is no larger than one of many. */
const LEAST = { width: 660, height: 170 };
/** Types at which an instance rests. */
const WAITS = new Set(["eventWait", "approval", "delay"]);

/** The shape of a workflow, small: to be recognised, not to be read. */
export function Thumbnail({ graph }: { graph: Graph }) {
  const drawn = useMemo(() => (graph.nodes.length > MOST_STEPS || graph.nodes.length === 0 ? null : layoutOf(graph)), [graph]);
  if (drawn === null) return <span className={styles["large"]}>{counted(graph.nodes.length, "step")}</span>;
  const types = new Map(graph.nodes.map((node) => [node.id, node.type]));
  const errors = new Set(graph.edges.filter((edge) => edge.isError).map((edge) => edge.id));
  const width = Math.max(drawn.width + 12, LEAST.width);
  const height = Math.max(drawn.height + 12, LEAST.height);
  return (
    <svg className={styles["thumbnail"]} viewBox={`-6 ${drawn.height / 2 - height / 2} ${width} ${height}`} preserveAspectRatio="xMinYMid meet" aria-hidden>
      {drawn.frames.map(({ loop, ...box }) => (
        <rect key={`frame ${loop}`} className={styles["frame"]} x={box.x} y={box.y} width={box.width} height={box.height} rx={12} />
      ))}
      {drawn.edges.map(({ id, points }) => (
        <polyline key={id} className={classes(styles["edge"], errors.has(id) && styles["error"])} points={points.map(({ x, y }) => `${x},${y}`).join(" ")} />
      ))}
      {drawn.nodes.map(({ id, x, y, width, height }) => (
        <rect key={id} className={classes(styles["step"], WAITS.has(types.get(id) ?? "") && styles["wait"])} x={x} y={y} width={width} height={height} rx={12} />
      ))}
    </svg>
  );
}
