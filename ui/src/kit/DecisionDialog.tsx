import { Check, X } from "lucide-react";
import { useState, type ReactNode } from "react";

import type { ApiProblem } from "../api/problem";
import { formOf, initialValue, problemsOf } from "../core/form";
import { problemsUnder } from "../core/formValues";
import type { Json } from "../core/json";
import { Button } from "./Button";
import { CopyAs } from "./CopyAs";
import { Dialog } from "./Dialog";
import styles from "./DecisionDialog.module.css";
import { Field, TextInput } from "./Field";
import { JsonView } from "./JsonView";
import { Notice } from "./Notice";
import { SchemaForm } from "./SchemaForm";
import { Stack } from "./Stack";
import { ErrorState } from "./States";

export type Decision = "approved" | "rejected";

/** What is sent as a decision. */
export interface Decided {
  decision: Decision;
  iteration?: string;
  form?: Json;
  by?: string;
  roles?: string[];
}

interface Props {
  title: string;
  instanceId: string;
  step: string;
  iteration: string;
  /** Who may decide. */
  users: readonly string[];
  roles: readonly string[];
  /** Null: it asks for no form. */
  schema: Json | null;
  /** The form was too large to be sent here. */
  isFormLeftOut?: boolean;
  /** What is decided on. */
  input: Json;
  /** Facts about it. */
  about: ReactNode;
  /** No user is signed in: the viewer enters who decides. */
  isAnonymous: boolean;
  /** The decision on its way. */
  pending: Decision | null;
  error: ApiProblem | null;
  onDecide: (decided: Decided) => void;
  onClose: () => void;
}

/** Deciding an approval: what it is about, the form that its schema asks for, and two buttons. */
export function DecisionDialog({ title, instanceId, step, iteration, users, roles, schema, isFormLeftOut = false, input, about, isAnonymous, pending, error, onDecide, onClose }: Props) {
  const [form, setForm] = useState<Json | undefined>(() => (schema === null ? undefined : initialValue(formOf(schema))));
  const [comment, setComment] = useState("");
  const [by, setBy] = useState(users[0] ?? "");
  const [isChecked, setIsChecked] = useState(false);
  const given = schema === null ? (comment.trim() === "" ? undefined : { comment: comment.trim() }) : form;
  const decider = isAnonymous && by.trim() !== "" ? by.trim() : undefined;
  const press = (decision: Decision) => {
    setIsChecked(true);
    // The service would refuse it; the fields say why.
    if (schema !== null && problemsOf(formOf(schema), form).length > 0) return;
    onDecide({
      decision,
      ...(iteration === "" ? {} : { iteration }),
      ...(given === undefined ? {} : { form: given }),
      ...(decider === undefined ? {} : { by: decider, roles: [...roles] }),
    });
  };
  return (
    <Dialog
      title={title}
      isOpen
      size="wide"
      onClose={onClose}
      actions={
        <>
          <CopyAs action={{ kind: "decide", id: instanceId, step, iteration, decision: "approved", ...(decider === undefined ? {} : { by: decider }), ...(given === undefined ? {} : { form: given }) }} />
          <span className={styles["grow"]} />
          <Button look="danger" icon={<X />} isPending={pending === "rejected"} disabled={isFormLeftOut || pending === "approved"} onClick={() => press("rejected")}>
            Reject
          </Button>
          <Button look="primary" icon={<Check />} isPending={pending === "approved"} disabled={isFormLeftOut || pending === "rejected"} onClick={() => press("approved")}>
            Approve
          </Button>
        </>
      }
    >
      <Stack>
        {about}
        <section>
          <h3>What it is about</h3>
          <JsonView label="Input of the instance" value={input} />
        </section>
        {isAnonymous && (
          <Field label="Decided by" help="Without sign-in the name is taken as it is given.">
            {(ids) => <TextInput {...ids} value={by} onChange={(event) => setBy(event.target.value)} />}
          </Field>
        )}
        {isFormLeftOut && <Notice tone="amber">Its form is too large to be shown here: decide on the page of the instance.</Notice>}
        {schema === null && !isFormLeftOut && (
          <Field label="Comment" help="It is kept with the decision, as its form.">
            {(ids) => <TextInput {...ids} value={comment} onChange={(event) => setComment(event.target.value)} />}
          </Field>
        )}
        {schema !== null && (
          <section>
            <h3>Form</h3>
            <SchemaForm schema={schema} value={form} onChange={setForm} isChecked={isChecked} problems={problemsUnder(error?.problems ?? [], "$.form").inside} />
          </section>
        )}
        {error !== null && <ErrorState isInline error={error} />}
      </Stack>
    </Dialog>
  );
}
