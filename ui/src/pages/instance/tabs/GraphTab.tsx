import { useMemo } from "react";

import { fetchDrawing, Graph } from "../../../kit/Graph";
import { useLayout } from "../../../kit/layouts";
import { EmptyState, ErrorState, Loading } from "../../../kit/States";
import { useShared } from "../context";
import { drawingOf } from "../model/boxes";
import { shownIteration } from "../model/iterations";
import styles from "../styles.module.css";
import { NOTHING } from "../useSelection";
import { IterationStrips } from "./IterationStrips";

fetchDrawing();

/** The workflow with what has become of each step. */
export default function GraphTab() {
  const { plan, shown, selection, select, graphError } = useShared();
  const isUndoing = shown.compensation !== null;
  const layout = useLayout(plan.graph, isUndoing);
  const { step, iteration } = selection;
  const drawing = useMemo(() => layout && drawingOf(plan, layout, shown, { step, iteration }), [plan, layout, shown, step, iteration]);
  if (drawing === null) return <Loading label="Loading the graph" />;
  if (drawing.boxes.length === 0) {
    return graphError === null ? (
      <EmptyState title="This workflow has no steps">It completes as soon as it is started.</EmptyState>
    ) : (
      <ErrorState error={graphError} />
    );
  }
  const choose = (id: string | null) => {
    if (id === null) return select(NOTHING);
    const isStep = plan.nodes.has(id);
    select({ ...NOTHING, step: id, iteration: isStep ? shownIteration(plan, shown, id, { step, iteration }) : "" });
  };
  return (
    <div className={styles["graphTab"]}>
      <IterationStrips />
      <Graph label="Graph of the instance" {...drawing} selected={step} onSelect={choose} />
    </div>
  );
}
