import { Link } from "wouter";

import { useMe } from "../../api/me";
import { send, useAct } from "../../api/queries";
import type { Shape } from "../../api/types";
import type { Json } from "../../core/json";
import { path } from "../../core/url";
import { DecisionDialog, type Decided } from "../../kit/DecisionDialog";
import { Facts } from "../../kit/Facts";
import { Moment } from "../../kit/Moment";
import { toast } from "../../kit/toast";
import { assignees } from "./order";

/** Deciding an approval of the inbox. */
export function Decide({ approval, onClose }: { approval: Shape<"OpenApproval">; onClose: () => void }) {
  const me = useMe();
  const decide = useAct(
    (body: Decided) => send("post", "/api/v1/instances/{id}/steps/{stepId}/decision", { path: { id: approval.instanceId, stepId: approval.stepId }, body }),
    (_, { decision }) => {
      toast({ text: `${approval.stepId} is ${decision}` });
      onClose();
    },
  );
  return (
    <DecisionDialog
      title={`Decide ${approval.stepId}`}
      instanceId={approval.instanceId}
      step={approval.stepId}
      iteration={approval.iteration}
      users={approval.users}
      roles={approval.roles}
      schema={(approval.formSchema ?? null) as Json}
      isFormLeftOut={approval.isFormLeftOut}
      input={approval.input as Json}
      about={
        <Facts
          facts={[
            ["Workflow", approval.workflowId],
            ["Instance", <Link key="" href={path("instances", approval.instanceId)}>{approval.instanceId}</Link>],
            ["Asked", <Moment key="" at={approval.openedAt} />],
            ["Due", approval.dueAt === null ? null : <Moment key="" at={approval.dueAt} />],
            ["May decide", assignees(approval)],
          ]}
        />
      }
      isAnonymous={me?.principal?.kind === "local"}
      pending={decide.isPending ? decide.variables.decision : null}
      error={decide.error}
      onDecide={decide.mutate}
      onClose={onClose}
    />
  );
}
