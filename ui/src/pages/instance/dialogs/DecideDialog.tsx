import { useMe } from "../../../api/me";
import { send } from "../../../api/queries";
import { keyOf } from "../../../core/log";
import { DecisionDialog, type Decided } from "../../../kit/DecisionDialog";
import { visible } from "../../../kit/JsonView";
import { Moment } from "../../../kit/Moment";
import { useShared } from "../context";
import { useCommand } from "./useCommand";

/** Decide on an approval of the instance. */
export default function DecideDialog({ step, iteration, onClose }: { step: string; iteration: string; onClose: () => void }) {
  const { id, now, plan, waits } = useShared();
  const me = useMe();
  const wait = waits.find((each) => each.stepId === step && each.iteration === iteration && each.approval !== null);
  const users = wait?.approval?.users ?? [];
  const roles = wait?.approval?.roles ?? [];
  const assignees = [...users, ...roles.map((role) => `role ${role}`)];
  const decide = useCommand((body: Decided) => send("post", "/api/v1/instances/{id}/steps/{stepId}/decision", { path: { id, stepId: step }, body }), "Decided", onClose);
  return (
    <DecisionDialog
      title={`Decide: ${plan.nodes.get(step)?.node.name ?? step}`}
      instanceId={id}
      step={step}
      iteration={iteration}
      users={users}
      roles={roles}
      schema={wait?.approval?.formSchema ?? plan.nodes.get(step)?.node.config["formSchema"] ?? null}
      input={now.input}
      about={
        <p>
          {visible(keyOf(step, iteration))} waits for {assignees.length === 0 ? "a decision" : visible(assignees.join(", "))}
          {wait?.timeoutAt != null && (
            <>
              ; times out <Moment at={wait.timeoutAt} />
            </>
          )}
        </p>
      }
      isAnonymous={me?.principal?.kind === "local"}
      pending={decide.isPending ? decide.variables.decision : null}
      error={decide.error}
      onDecide={decide.mutate}
      onClose={onClose}
    />
  );
}
