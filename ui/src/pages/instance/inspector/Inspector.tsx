import { X } from "lucide-react";
import type { ReactNode } from "react";

import type { Activation } from "../../../core/fold";
import { keyOf } from "../../../core/log";
import { IconButton } from "../../../kit/Button";
import { CopyButton } from "../../../kit/CopyButton";
import { JsonView, visible } from "../../../kit/JsonView";
import { StatusBadge } from "../../../kit/StatusBadge";
import { Tabs } from "../../../kit/Tabs";
import { useShared } from "../context";
import { kindOf } from "../../../core/drawing";
import { shownIteration } from "../model/iterations";
import styles from "../styles.module.css";
import { NOTHING, type Selection } from "../useSelection";
import { Attempts } from "./Attempts";
import { EntryPart } from "./EntryPart";
import { ErrorPart } from "./ErrorPart";
import { InputPart } from "./InputPart";
import { Logs } from "./Logs";
import { Summary } from "./Summary";
import { UndoInspector } from "./UndoInspector";

/** What is selected: a step in one iteration, an attempt of it, or an entry of the log. */
export default function Inspector() {
  const { selection, select, plan, shown, linkTo } = useShared();
  const { step, entry } = selection;
  const undo = step === null ? undefined : shown.compensation?.items.find((item) => item.stepId === step && !plan.nodes.has(step));
  const iteration = step === null ? "" : selection.iteration !== "" || !plan.nodes.has(step) ? selection.iteration : shownIteration(plan, shown, step, selection);
  const node = step === null ? undefined : shown.activations.get(keyOf(step, iteration));
  const planned = step === null ? undefined : plan.nodes.get(step);
  const title = step === null ? `Entry ${entry ?? ""}` : (planned?.node.name ?? step);
  return (
    <>
      <header className={styles["inspectorHead"]}>
        <div className={styles["inspectorTitle"]}>
          <h2>{visible(iteration === "" ? title : `${title} [${iteration}]`)}</h2>
          {planned !== undefined && <span className={styles["muted"]}>{kindOf(planned.node.type)}</span>}
          {node !== undefined && <StatusBadge status={node.status} />}
        </div>
        <CopyButton text={linkTo({})} label="Copy link to this selection" />
        <IconButton label="Clear the selection" icon={<X />} onClick={() => select(NOTHING)} />
      </header>
      {undo !== undefined ? (
        <UndoInspector item={undo} />
      ) : (
        <Tabs
          label="Parts of the selection"
          tabs={partsOf(selection, node, planned?.node.config ?? null, step)}
          chosen={selection.part}
          onChoose={(part) => select({ part: part as Selection["part"] }, "replace")}
        />
      )}
    </>
  );
}

function partsOf(selection: Selection, node: Activation | undefined, config: object | null, step: string | null): { id: string; label: ReactNode; content: ReactNode }[] {
  const scrolled = (content: ReactNode) => <div className={styles["part"]}>{content}</div>;
  const entry = selection.entry === null ? [] : [{ id: "entry", label: "Entry", content: scrolled(<EntryPart seq={selection.entry} />) }];
  if (step === null) return entry;
  const parts = [...entry, { id: "summary", label: "Summary", content: scrolled(<Summary step={step} node={node} />) }];
  if (node !== undefined) {
    const attempt = node.attempts.find((each) => each.number === selection.attempt) ?? node.attempts.at(-1);
    const error = attempt?.error ?? (node.status === "FAILED" || node.status === "RETRYING" ? node.error : null);
    if (error !== null) parts.push({ id: "error", label: "Error", content: scrolled(<ErrorPart error={error} attempt={attempt} />) });
    parts.push({ id: "input", label: "Input", content: scrolled(<InputPart node={node} attempt={attempt} />) });
    parts.push({ id: "output", label: "Output", content: scrolled(<Output node={node} />) });
    if (node.attempts.length > 0) {
      parts.push({ id: "attempts", label: node.attempts.length > 1 ? `Attempts ${node.attempts.length}` : "Attempts", content: scrolled(<Attempts node={node} />) });
      parts.push({ id: "logs", label: "Logs", content: scrolled(<Logs node={node} />) });
    }
  }
  if (config !== null) parts.push({ id: "config", label: "Config", content: scrolled(<JsonView value={config} label="Settings of the step" />) });
  return parts;
}

function Output({ node }: { node: Activation }) {
  if (node.completedAt === null) return <p className={styles["muted"]}>It has no output yet.</p>;
  if (node.status === "SKIPPED" || node.status === "CANCELLED") return <p className={styles["muted"]}>It has no output: it was {node.status.toLowerCase()}.</p>;
  return <JsonView value={node.output} label="Output" />;
}
