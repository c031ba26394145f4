import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";

import { useMay } from "../../api/me";
import { read, send } from "../../api/queries";
import type { Shape } from "../../api/types";
import { stepAt, type DefinitionFacts } from "../../core/definition";
import { counted } from "../../core/format";
import { asObject } from "../../core/json";
import { JsonView } from "../../kit/JsonView";
import { Moment } from "../../kit/Moment";
import { Counts } from "./Counts";
import styles from "./detail.module.css";
import { StepButton } from "./Inspector";
import { eventsHref } from "./links";
import { Ticks } from "./Ticks";

const COUNTED_HOURS = 168;
const DOES = { starts: "Starts it", resumes: "Resumes", cancels: "Cancels it", publishes: "Is published by" } as const;

/** The workflow as a whole: its state, what the service warns about, its events, input and settings. */
export function About({ workflow, facts, onStep }: { workflow: Shape<"WorkflowView">; facts: DefinitionFacts; onStep: (step: string) => void }) {
  const mayRead = useMay("instances:read");
  const mayCount = useMay("stats:read");
  const stats = useQuery({ ...read("/api/v1/stats", { query: { hours: COUNTED_HOURS } }), enabled: mayCount });
  const byStatus = stats.data?.byWorkflow.find(({ workflowId }) => workflowId === workflow.id)?.byStatus;
  const options = asObject(asObject(workflow.definition)["options"] ?? asObject(workflow.definition)["workflowOptions"]);
  return (
    <>
      {workflow.description && <p>{workflow.description}</p>}
      <dl className={styles["facts"]}>
        <dt>Id</dt>
        <dd>
          <code>{workflow.id}</code>
        </dd>
        <dt>Version</dt>
        <dd>
          {workflow.version}, saved <Moment at={workflow.createdAt} />
        </dd>
        <dt>Steps</dt>
        <dd>
          {facts.graph.nodes.length}
          {facts.graph.compensations.length > 0 && `, and ${counted(facts.graph.compensations.length, "compensation")}`}
        </dd>
        {mayRead && (
          <>
            <dt>Last instances</dt>
            <dd>
              <Ticks workflow={workflow.id} />
            </dd>
          </>
        )}
        {byStatus !== undefined && (
          <>
            <dt>In 7 days</dt>
            <dd>
              <Counts workflow={workflow.id} byStatus={byStatus} />
            </dd>
          </>
        )}
      </dl>
      <Problems workflow={workflow} facts={facts} onStep={onStep} />
      {facts.events.length > 0 && (
        <>
          <h3>Events</h3>
          <ul className={styles["list"]}>
            {facts.events.map((use, place) => (
              <li key={place}>
                <Link href={eventsHref(use.pattern)}>
                  <code>{use.pattern}</code>
                </Link>{" "}
                <span className={styles["muted"]}>{DOES[use.does].toLowerCase()}</span> {use.step !== null && <StepButton id={use.step} onStep={onStep} />}
                {use.condition !== null && <code className={styles["condition"]}>{use.condition}</code>}
              </li>
            ))}
          </ul>
        </>
      )}
      {facts.inputSchema !== undefined && (
        <>
          <h3>Input schema</h3>
          <JsonView label="Input schema" value={facts.inputSchema} />
        </>
      )}
      {Object.keys(options).length > 0 && (
        <>
          <h3>Options</h3>
          <JsonView label="Options" value={options} />
        </>
      )}
    </>
  );
}

/** What the service finds in the definition as it is now; each problem leads to its step. */
function Problems({ workflow, facts, onStep }: { workflow: Shape<"WorkflowView">; facts: DefinitionFacts; onStep: (step: string) => void }) {
  const checked = useQuery({
    queryKey: ["/api/v1/workflows/validate", { id: workflow.id, version: workflow.version }],
    queryFn: () => send("post", "/api/v1/workflows/validate", { body: workflow.definition as never }),
    staleTime: 60_000,
  });
  const problems = checked.data?.problems ?? [];
  if (problems.length === 0) return null;
  return (
    <>
      <h3>{checked.data?.valid === false ? "Problems" : counted(problems.length, "warning")}</h3>
      <ul className={styles["list"]}>
        {problems.map((problem, place) => {
          const step = stepAt(facts.graph, problem.path);
          return (
            <li key={place} className={styles["notice"]}>
              <code>{problem.code}</code> {step !== null && <StepButton id={step} onStep={onStep} />} {problem.message}
              <span className={styles["muted"]}> {problem.advice}</span>
            </li>
          );
        })}
      </ul>
    </>
  );
}
