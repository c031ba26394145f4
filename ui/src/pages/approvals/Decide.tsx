import { Check, X } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";

import { send, useAct } from "../../api/queries";
import type { Shape } from "../../api/types";
import { formOf, initialValue } from "../../core/form";
import { problemsUnder } from "../../core/formValues";
import type { Json } from "../../core/json";
import { path } from "../../core/url";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { Field, TextInput } from "../../kit/Field";
import { Facts } from "../../kit/Facts";
import { JsonView } from "../../kit/JsonView";
import { Moment } from "../../kit/Moment";
import { Notice } from "../../kit/Notice";
import { SchemaForm } from "../../kit/SchemaForm";
import { Stack } from "../../kit/Stack";
import { ErrorState } from "../../kit/States";
import { toast } from "../../kit/toast";
import { assignees } from "./order";

type Approval = Shape<"OpenApproval">;
type Decision = "approved" | "rejected";

/** Deciding an approval, with what it is about and the form that it asks for. */
export function Decide({ approval, onClose }: { approval: Approval; onClose: () => void }) {
  const hasForm = approval.formSchema !== null && approval.formSchema !== undefined;
  const [form, setForm] = useState<Json | undefined>(() => (hasForm ? initialValue(formOf(approval.formSchema as Json)) : undefined));
  const [comment, setComment] = useState("");
  const [isChecked, setIsChecked] = useState(false);
  const decide = useAct(
    (decision: Decision) =>
      send("post", "/api/v1/instances/{id}/steps/{stepId}/decision", {
        path: { id: approval.instanceId, stepId: approval.stepId },
        body: { decision, ...(hasForm ? { form } : comment.trim() === "" ? {} : { form: { comment: comment.trim() } }), ...(approval.iteration === "" ? {} : { iteration: approval.iteration }) },
      }),
    (_, decision) => {
      toast({ text: `${approval.stepId} is ${decision}` });
      onClose();
    },
  );
  const press = (decision: Decision) => {
    setIsChecked(true);
    decide.mutate(decision);
  };
  const pending = decide.isPending ? decide.variables : null;
  return (
    <Dialog
      title={`Decide ${approval.stepId}`}
      isOpen
      size="wide"
      onClose={onClose}
      actions={
        <>
          <Button look="danger" icon={<X />} isPending={pending === "rejected"} disabled={approval.isFormLeftOut || pending === "approved"} onClick={() => press("rejected")}>
            Reject
          </Button>
          <Button look="primary" icon={<Check />} isPending={pending === "approved"} disabled={approval.isFormLeftOut || pending === "rejected"} onClick={() => press("approved")}>
            Approve
          </Button>
        </>
      }
    >
      <Stack>
        <Facts
          facts={[
            ["Workflow", approval.workflowId],
            ["Instance", <Link key="" href={path("instances", approval.instanceId)}>{approval.instanceId}</Link>],
            ["Asked", <Moment key="" at={approval.openedAt} />],
            ["Due", approval.dueAt === null ? null : <Moment key="" at={approval.dueAt} />],
            ["May decide", assignees(approval)],
          ]}
        />
        <section>
          <h3>What it is about</h3>
          <JsonView label="Input of the instance" value={approval.input} />
        </section>
        {approval.isFormLeftOut && <Notice tone="amber">Its form is too large to be shown here: decide on the page of the instance.</Notice>}
        {!hasForm && !approval.isFormLeftOut && (
          <Field label="Comment" help="It is kept with the decision, as its form.">
            {(ids) => <TextInput {...ids} value={comment} onChange={(event) => setComment(event.target.value)} />}
          </Field>
        )}
        {hasForm && (
          <section>
            <h3>Form</h3>
            <SchemaForm schema={approval.formSchema} value={form} onChange={setForm} isChecked={isChecked} problems={problemsUnder(decide.error?.problems ?? [], "$.form").inside} />
          </section>
        )}
        {decide.error !== null && <ErrorState isInline error={decide.error} />}
      </Stack>
    </Dialog>
  );
}
