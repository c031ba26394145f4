import { useState } from "react";

import { useMe } from "../../../api/me";
import { send } from "../../../api/queries";
import { formOf, initialValue, problemsOf } from "../../../core/form";
import type { Json } from "../../../core/json";
import { keyOf } from "../../../core/log";
import { Button } from "../../../kit/Button";
import { CopyAs } from "../../../kit/CopyAs";
import { Dialog } from "../../../kit/Dialog";
import { Field, TextInput } from "../../../kit/Field";
import { JsonView, visible } from "../../../kit/JsonView";
import { Moment } from "../../../kit/Moment";
import { SchemaForm } from "../../../kit/SchemaForm";
import { ErrorState } from "../../../kit/States";
import { useShared } from "../context";
import styles from "../styles.module.css";
import { useCommand } from "./useCommand";

/** Decide on an approval: what is decided on, the form that its schema asks for, and two buttons. */
export default function DecideDialog({ step, iteration, onClose }: { step: string; iteration: string; onClose: () => void }) {
  const { id, now, plan, waits } = useShared();
  const me = useMe();
  const wait = waits.find((each) => each.stepId === step && each.iteration === iteration && each.approval !== null);
  const schema = wait?.approval?.formSchema ?? plan.nodes.get(step)?.node.config["formSchema"];
  const hasForm = schema !== undefined && schema !== null;
  const [form, setForm] = useState<Json | undefined>(() => (hasForm ? initialValue(formOf(schema)) : undefined));
  const [isChecked, setIsChecked] = useState(false);
  // Without authentication the viewer says who decides; a credential says it itself.
  const isAnonymous = me?.principal?.kind === "local";
  const [by, setBy] = useState(wait?.approval?.users[0] ?? "");
  const assignees = [...(wait?.approval?.users ?? []), ...(wait?.approval?.roles ?? []).map((role) => `role ${role}`)];
  const decide = useCommand(
    (decision: "approved" | "rejected") =>
      send("post", "/api/v1/instances/{id}/steps/{stepId}/decision", {
        path: { id, stepId: step },
        body: {
          decision,
          iteration,
          form: form ?? null,
          ...(isAnonymous && by !== "" ? { by, roles: wait?.approval?.roles ?? [] } : {}),
        },
      }),
    "Decided",
    onClose,
  );
  const problems = (decide.error?.problems ?? []).map((problem) => ({ ...problem, path: problem.path.replace(/^\$\.form\b/, "$") }));
  const press = (decision: "approved" | "rejected") => {
    setIsChecked(true);
    if (hasForm && problemsOf(formOf(schema), form).length > 0) return;
    decide.mutate(decision);
  };
  const title = plan.nodes.get(step)?.node.name ?? step;
  return (
    <Dialog
      title={`Decide: ${title}`}
      isOpen
      onClose={onClose}
      actions={
        <>
          <CopyAs action={{ kind: "decide", id, step, iteration, decision: "approved", ...(by === "" ? {} : { by }), ...(form === undefined ? {} : { form }) }} />
          <span className={styles["grow"]} />
          <Button look="danger" isPending={decide.isPending && decide.variables === "rejected"} onClick={() => press("rejected")}>
            Reject
          </Button>
          <Button look="primary" isPending={decide.isPending && decide.variables === "approved"} onClick={() => press("approved")}>
            Approve
          </Button>
        </>
      }
    >
      <div className={styles["form"]}>
        <p>
          {visible(keyOf(step, iteration))} waits for {assignees.length === 0 ? "a decision" : visible(assignees.join(", "))}
          {wait?.timeoutAt != null && (
            <>
              {" "}
              until <Moment at={wait.timeoutAt} />
            </>
          )}
          .
        </p>
        <details>
          <summary>What is decided on: the input of the workflow</summary>
          <JsonView value={now.input} label="Input of the workflow" />
        </details>
        {isAnonymous && (
          <Field label="Decided by" help="No sign-in is required here, so the name is taken as it is given.">
            {(ids) => <TextInput {...ids} value={by} onChange={(event) => setBy(event.target.value)} />}
          </Field>
        )}
        {hasForm && <SchemaForm schema={schema} value={form} onChange={setForm} problems={problems} isChecked={isChecked} />}
        {decide.error !== null && <ErrorState isInline error={decide.error} />}
      </div>
    </Dialog>
  );
}
