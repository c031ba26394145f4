import { send, useAct } from "../../api/queries";
import type { Shape } from "../../api/types";
import { Confirm } from "../../kit/Confirm";
import { Notice } from "../../kit/Notice";
import { Stack } from "../../kit/Stack";
import { toast } from "../../kit/toast";

/** Removing a secret, with what fails without it. */
export function RemoveSecret({ secret, onClose }: { secret: Shape<"Secret">; onClose: () => void }) {
  const uses = [...(secret.usedBy?.workflows ?? []), ...(secret.usedBy?.dataSources ?? [])];
  const remove = useAct(
    () => send("delete", "/api/v1/secrets/{name}", { path: { name: secret.name }, query: { force: uses.length > 0 } }),
    () => {
      toast({ text: `${secret.name} is removed` });
      onClose();
    },
  );
  return (
    <Confirm title={`Remove ${secret.name}`} action="Remove" isDanger isPending={remove.isPending} error={remove.error} onConfirm={() => remove.mutate(undefined)} onClose={onClose}>
      <Stack>
        {uses.length > 0 && <Notice tone="amber">{`It is used by ${uses.join(", ")}. Their steps fail without it.`}</Notice>}
        <p>The stored value is deleted. This cannot be taken back.</p>
      </Stack>
    </Confirm>
  );
}
