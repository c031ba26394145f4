import { X } from "lucide-react";
import { Link } from "wouter";

import { stepDetail } from "../../core/definition";
import { kindOf } from "../../core/drawing";
import { isKnownNodeType, type Graph } from "../../core/graph";
import { asText } from "../../core/json";
import { flattened, outlineOf, type OutlineLink } from "../../core/outline";
import { IconButton } from "../../kit/Button";
import { JsonView } from "../../kit/JsonView";
import { Snippet } from "../../kit/Snippet";
import styles from "./detail.module.css";
import { workflowHref } from "./links";

/** The settings of a step, where it comes from and where it leads. */
export function Inspector({ graph, step, onStep }: { graph: Graph; step: string; onStep: (step: string | null) => void }) {
  const node = graph.nodes.find(({ id }) => id === step);
  const undoing = graph.compensations.find(({ stepId }) => stepId === step);
  const item = flattened(outlineOf(graph)).find(({ id }) => id === step);
  const close = <IconButton label="Close the step" icon={<X />} onClick={() => onStep(null)} />;
  if (node === undefined && undoing === undefined) {
    return (
      <>
        <header className={styles["panelHead"]}>
          <h2>{step}</h2>
          {close}
        </header>
        <p className={styles["muted"]}>This version has no such step.</p>
      </>
    );
  }
  const config = node?.config ?? undoing?.config ?? {};
  const detail = node === undefined ? "" : stepDetail(node.type, node.config);
  const code = node?.type === "javascript" ? asText(config["code"]) : null;
  const settings = code === null ? config : Object.fromEntries(Object.entries(config).filter(([name]) => name !== "code"));
  const called = node?.type === "subWorkflow" ? asText(config["workflowId"]) : null;
  return (
    <>
      <header className={styles["panelHead"]}>
        <div>
          <h2>{node?.name ?? step}</h2>
          <p className={styles["muted"]}>
            <span className={styles["kind"]}>{node === undefined ? "compensation" : kindOf(node.type)}</span>
            {detail !== "" && (
              <>
                {" · "}
                {called === null ? <code>{detail}</code> : <Link href={workflowHref(called)}>{called}</Link>}
              </>
            )}
          </p>
        </div>
        {close}
      </header>
      {node !== undefined && !isKnownNodeType(node.type) && <p className={styles["notice"]}>This page does not know the type “{node.type}”. All its settings are below.</p>}
      {node?.description && <p>{node.description}</p>}
      <dl className={styles["facts"]}>
        <dt>Step id</dt>
        <dd>
          <code>{step}</code>
        </dd>
        {undoing !== undefined && (
          <>
            <dt>Undoes</dt>
            <dd>
              <StepButton id={undoing.compensationFor} onStep={onStep} />
            </dd>
          </>
        )}
        {item !== undefined && item.join !== null && (
          <>
            <dt>Join</dt>
            <dd>{typeof item.join === "number" ? `At least ${item.join} incoming edges` : item.join === "all" ? "All incoming edges that were taken" : "The first incoming edge"}</dd>
          </>
        )}
        <Links title="Comes from" links={item?.from ?? []} onStep={onStep} />
        <Links title="Goes to" links={item?.then ?? []} onStep={onStep} />
        {item !== undefined && item.undoneBy.length > 0 && (
          <>
            <dt>Undone by</dt>
            <dd>
              {item.undoneBy.map((id) => (
                <StepButton key={id} id={id} onStep={onStep} />
              ))}
            </dd>
          </>
        )}
      </dl>
      {code !== null && (
        <>
          <h3>Code</h3>
          <Snippet text={code} label={`Code of ${step}`} />
        </>
      )}
      <h3>Settings</h3>
      {Object.keys(settings).length === 0 ? <p className={styles["muted"]}>None of its own.</p> : <JsonView label={`Settings of ${step}`} value={settings} />}
    </>
  );
}

function Links({ title, links, onStep }: { title: string; links: readonly OutlineLink[]; onStep: (step: string) => void }) {
  if (links.length === 0) return null;
  return (
    <>
      <dt>{title}</dt>
      <dd>
        <ul className={styles["links"]}>
          {links.map(({ edge, step, label, isError }) => (
            <li key={edge}>
              <StepButton id={step} onStep={onStep} />
              {label !== "" && <code className={isError ? styles["error"] : styles["muted"]}>{label}</code>}
            </li>
          ))}
        </ul>
      </dd>
    </>
  );
}

export const StepButton = ({ id, onStep }: { id: string; onStep: (step: string) => void }) => (
  <button type="button" className={styles["stepButton"]} onClick={() => onStep(id)}>
    {id}
  </button>
);
