import { send, useAct } from "../../api/queries";
import type { Shape } from "../../api/types";
import { counted } from "../../core/format";
import { Confirm } from "../../kit/Confirm";
import { toast } from "../../kit/toast";
import { Stack } from "../../kit/Stack";
import { fallsWith } from "./lineage";
import styles from "./styles.module.css";

type Key = Shape<"KeyItem">;

/** Revoking a key, with what falls with it. */
export function RevokeKey({ row, keys, isWhole, onClose }: { row: Key; keys: readonly Key[]; isWhole: boolean; onClose: () => void }) {
  const revoke = useAct(
    () => send("delete", "/api/v1/keys/{id}", { path: { id: row.id } }),
    ({ alsoRevoked }) => {
      toast({ text: alsoRevoked.length === 0 ? `${row.name} is revoked` : `${row.name} and ${counted(alsoRevoked.length, "key")} made by it are revoked` });
      onClose();
    },
  );
  const others = fallsWith(keys, row.id);
  return (
    <Confirm title={`Revoke ${row.name}`} action="Revoke" isDanger isPending={revoke.isPending} error={revoke.error} onConfirm={() => revoke.mutate(undefined)} onClose={onClose}>
      <Stack>
        <p>Requests with it are refused within a second. This cannot be taken back.</p>
        {others.length > 0 && (
          <div>
            <p>{`${counted(others.length, "key")} made by it, or by those, ${others.length === 1 ? "falls" : "fall"} with it${isWhole ? "" : ", perhaps more"}:`}</p>
            <ul className={styles["fallen"]}>
              {others.map((key) => (
                <li key={key.id}>{`${key.name} (${key.role})`}</li>
              ))}
            </ul>
          </div>
        )}
      </Stack>
    </Confirm>
  );
}
