import { useQuery } from "@tanstack/react-query";
import { ArrowRight, X } from "lucide-react";
import { useMemo } from "react";

import { read } from "../../api/queries";
import { compared, diffSummary, type Comparison as Compared } from "../../core/comparison";
import type { Change } from "../../core/diff";
import { drawn } from "../../core/drawing";
import { planOf } from "../../core/plan";
import { Button } from "../../kit/Button";
import { Graph } from "../../kit/Graph";
import { visible } from "../../kit/JsonView";
import { useLayout } from "../../kit/layouts";
import { ErrorState, Loading } from "../../kit/States";
import { Tabs } from "../../kit/Tabs";
import styles from "./detail.module.css";
import { StepButton } from "./Inspector";
import { LineDiff } from "./LineDiff";

interface Props {
  id: string;
  from: number;
  to: number;
  newest: number;
  view: string;
  step: string | null;
  onChange: (changes: Record<string, string | null>) => void;
}

/** What changed between two versions: in the graph, step by step, and in the JSON. */
export function Comparison({ id, from, to, newest, view, step, onChange }: Props) {
  const before = useQuery(read("/api/v1/workflows/{id}", { path: { id }, query: { version: from } }));
  const after = useQuery(read("/api/v1/workflows/{id}", { path: { id }, query: { version: to } }));
  const found = useMemo(() => (before.data && after.data ? compared(before.data.definition, after.data.definition) : null), [before.data, after.data]);
  const compare = (left: number, right: number) => onChange({ diff: `${left}..${right}`, step: null });
  return (
    <>
      <div className={styles["compare"]}>
        <VersionChoice label="From version" chosen={from} newest={newest} onChoose={(next) => compare(next, to)} />
        <ArrowRight aria-hidden />
        <VersionChoice label="To version" chosen={to} newest={newest} onChoose={(next) => compare(from, next)} />
        <span className={styles["muted"]} role="status">
          {found !== null && (diffSummary(found.diff) || "No difference but in the drawing")}
        </span>
        <Button look="quiet" icon={<X />} onClick={() => onChange({ diff: null, view: null, step: null })}>
          Close the comparison
        </Button>
      </div>
      {before.error !== null || after.error !== null ? (
        <ErrorState error={before.error ?? after.error} />
      ) : found === null ? (
        <Loading label="Loading both versions" />
      ) : (
        <div className={styles["tabs"]}>
        <Tabs
          label="The comparison"
          chosen={view}
          onChoose={(next) => onChange({ view: next === "graph" ? null : next })}
          tabs={[
            { id: "graph", label: "Graph", content: <GraphDiff found={found} step={step} onStep={(next) => onChange({ step: next })} /> },
            { id: "json", label: "JSON", content: <LineDiff before={written(before.data?.definition)} after={written(after.data?.definition)} /> },
          ]}
        />
        </div>
      )}
    </>
  );
}

const written = (definition: unknown): string => JSON.stringify(definition, null, 2);

function VersionChoice({ label, chosen, newest, onChoose }: { label: string; chosen: number; newest: number; onChoose: (version: number) => void }) {
  return (
    <select className={styles["select"]} aria-label={label} value={chosen} onChange={({ target }) => onChoose(Number(target.value))}>
      {chosen > newest && <option value={chosen}>Version {chosen}</option>}
      {Array.from({ length: newest }, (_, place) => newest - place).map((version) => (
        <option key={version} value={version}>
          Version {version}
        </option>
      ))}
    </select>
  );
}

function GraphDiff({ found, step, onStep }: { found: Compared; step: string | null; onStep: (step: string | null) => void }) {
  const layout = useLayout(found.graph, true);
  const shown = useMemo(() => layout && drawn(planOf(found.graph), layout, { diff: found.diff }), [found, layout]);
  const { added, removed, changed, addedEdges, removedEdges, rest } = found.diff;
  const isShown = (id: string) => step === null || id === step;
  const isSame = step !== null && ![...added, ...removed, ...changed.map(({ id }) => id)].includes(step);
  return (
    <div className={styles["split"]}>
      <div className={styles["drawing"]}>
        {shown === null ? <Loading label="Loading the graph" /> : <Graph label="The steps of both versions" {...shown} selected={step} onSelect={onStep} />}
      </div>
      <aside className={styles["panel"]} aria-label="Changes">
        {step !== null && (
          <header className={styles["panelHead"]}>
            <h2>{step}</h2>
            <Button onClick={() => onStep(null)}>Show all changes</Button>
          </header>
        )}
        {isSame && <p className={styles["muted"]}>This step is the same in both versions.</p>}
        <Steps title="Added" steps={added.filter(isShown)} onStep={onStep} />
        <Steps title="Removed" steps={removed.filter(isShown)} onStep={onStep} />
        {changed
          .filter(({ id }) => isShown(id))
          .map(({ id, changes }) => (
          <section key={id} className={styles["changes"]}>
            <h3>
              Changed: <StepButton id={id} onStep={onStep} />
            </h3>
            <Changes changes={changes} />
          </section>
        ))}
        {step === null && (
          <>
            <Edges title="Added edges" edges={addedEdges} />
            <Edges title="Removed edges" edges={removedEdges} />
            {rest.length > 0 && (
              <section className={styles["changes"]}>
                <h3>Settings</h3>
                <Changes changes={rest} />
              </section>
            )}
          </>
        )}
      </aside>
    </div>
  );
}

function Steps({ title, steps, onStep }: { title: string; steps: readonly string[]; onStep: (step: string) => void }) {
  if (steps.length === 0) return null;
  return (
    <section className={styles["changes"]}>
      <h3>{title}</h3>
      <p>
        {steps.map((id) => (
          <StepButton key={id} id={id} onStep={onStep} />
        ))}
      </p>
    </section>
  );
}

function Edges({ title, edges }: { title: string; edges: readonly string[] }) {
  if (edges.length === 0) return null;
  return (
    <section className={styles["changes"]}>
      <h3>{title}</h3>
      <ul className={styles["list"]}>
        {edges.map((edge) => (
          <li key={edge}>
            <code>{edge.replace(":default>", " → ").replace(/:([^:>]*)>/, " ($1) → ")}</code>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Changes({ changes }: { changes: readonly Change[] }) {
  return (
    <dl className={styles["fields"]}>
      {changes.map(({ path, before, after }) => (
        <div key={path}>
          <dt>
            <code>{path.replace(/^\$\.?(config\.)?/, "") || "$"}</code>
          </dt>
          {before !== undefined && <Value look="before" value={before} />}
          {after !== undefined && <Value look="after" value={after} />}
        </div>
      ))}
    </dl>
  );
}

function Value({ look, value }: { look: "before" | "after"; value: unknown }) {
  return (
    <dd className={styles[look]}>
      <span aria-hidden>{look === "before" ? "−" : "+"}</span>
      <span className="hidden-text">{look === "before" ? "Before: " : "After: "}</span>
      <code>{visible(JSON.stringify(value, null, typeof value === "object" ? 2 : 0)).slice(0, 4_000)}</code>
    </dd>
  );
}
