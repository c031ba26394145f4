import { useMemo } from "react";

import type { Shape } from "../../api/types";
import type { DefinitionFacts } from "../../core/definition";
import { drawn } from "../../core/drawing";
import { planOf } from "../../core/plan";
import { fetchDrawing, Graph } from "../../kit/Graph";
import { useLayout } from "../../kit/layouts";
import { EmptyState, Loading } from "../../kit/States";
import { About } from "./About";
import styles from "./detail.module.css";
import { Inspector } from "./Inspector";

fetchDrawing();

/** The graph, and beside it the chosen step, or what there is to know about the whole. */
export function GraphTab({ workflow, facts, step, onStep }: { workflow: Shape<"WorkflowView">; facts: DefinitionFacts; step: string | null; onStep: (step: string | null) => void }) {
  const layout = useLayout(facts.graph, true);
  const shown = useMemo(() => layout && drawn(planOf(facts.graph), layout), [facts.graph, layout]);
  return (
    <div className={styles["split"]}>
      <div className={styles["drawing"]}>
        {shown === null ? (
          <Loading label="Loading the graph" />
        ) : shown.boxes.length === 0 ? (
          <EmptyState title="This definition has no steps">Its JSON has all that was saved.</EmptyState>
        ) : (
          <Graph label={`The steps of ${workflow.id}`} {...shown} selected={step} onSelect={onStep} />
        )}
      </div>
      <aside className={styles["panel"]} aria-label={step === null ? "About the workflow" : "The chosen step"}>
        {step === null ? <About workflow={workflow} facts={facts} onStep={onStep} /> : <Inspector graph={facts.graph} step={step} onStep={onStep} />}
      </aside>
    </div>
  );
}
