import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { read, send } from "../../../api/queries";
import { counted } from "../../../core/format";
import { asArray, asObject, asText } from "../../../core/json";
import { keyOf } from "../../../core/log";
import { Button } from "../../../kit/Button";
import { Dialog } from "../../../kit/Dialog";
import { Field, TextInput } from "../../../kit/Field";
import { JsonView, visible } from "../../../kit/JsonView";
import { ErrorState, Loading } from "../../../kit/States";
import { useShared } from "../context";
import styles from "../styles.module.css";
import { useCommand } from "./useCommand";

/** Cancel, with what would be undone shown before. */
export default function CancelDialog({ onClose }: { onClose: () => void }) {
  const { id } = useShared();
  const [reason, setReason] = useState("");
  const [shouldCompensate, setShouldCompensate] = useState(true);
  const undo = useQuery({ ...read("/api/v1/instances/{id}/undo-plan", { path: { id } }), staleTime: 0 });
  const cancel = useCommand(
    () => send("post", "/api/v1/instances/{id}/cancel", { path: { id }, body: { reason: reason || null, shouldCompensate } }),
    "Cancelled",
    onClose,
  );
  const plan = undo.data?.plan ?? [];
  const children = asArray(asObject(undo.data)["children"]);
  return (
    <Dialog
      title="Cancel this instance"
      isOpen
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button look="danger" isPending={cancel.isPending} onClick={() => cancel.mutate(undefined)}>
            {shouldCompensate && plan.length > 0 ? `Cancel and undo ${counted(plan.length, "step")}` : "Cancel the instance"}
          </Button>
        </>
      }
    >
      <div className={styles["form"]}>
        <p>Nothing new starts, waits and timers end, and running tasks are asked to stop. A cancelled instance cannot be resumed; it can be run again.</p>
        <Field label="Reason">{(ids) => <TextInput {...ids} value={reason} onChange={(event) => setReason(event.target.value)} />}</Field>
        <label className={styles["check"]}>
          <input type="checkbox" checked={shouldCompensate} onChange={(event) => setShouldCompensate(event.target.checked)} />
          Undo what was completed
        </label>
        {shouldCompensate &&
          (undo.isPending ? (
            <Loading label="Loading the undo plan" />
          ) : undo.error !== null ? (
            <ErrorState isInline error={undo.error} onRetry={() => void undo.refetch()} />
          ) : plan.length === 0 ? (
            <p className={styles["muted"]}>There is nothing to undo{children.length > 0 ? " here; children undo themselves" : ""}.</p>
          ) : (
            <UndoList plan={plan} skipped={undo.data.skipped} />
          ))}
        {children.length > 0 && <p className={styles["muted"]}>{counted(children.length, "running child", "running children")} will be cancelled, too.</p>}
        {cancel.error !== null && <ErrorState isInline error={cancel.error} />}
      </div>
    </Dialog>
  );
}

function UndoList({ plan, skipped }: { plan: readonly object[]; skipped: readonly object[] }) {
  return (
    <div>
      <h3>Undone in this order</h3>
      <ol className={styles["undoList"]} aria-label="Undo plan">
        {plan.map((each, place) => {
          const item = asObject(each);
          const key = keyOf(asText(item["stepId"]) ?? "", asText(item["iteration"]) ?? "");
          return (
            <li key={key}>
              <details>
                <summary>
                  <span className={styles["number"]}>{place + 1}</span>
                  <b>{visible(key)}</b> <span className={styles["muted"]}>undoes {visible(asText(item["compensationFor"]) ?? "")}</span>
                </summary>
                <JsonView value={item["input"] ?? null} label={`Input of ${key}`} />
              </details>
            </li>
          );
        })}
      </ol>
      {skipped.length > 0 && (
        <p className={styles["muted"]}>
          Not undone:{" "}
          {skipped
            .map(asObject)
            .map((item) => `${asText(item["stepId"]) ?? ""} (${asText(item["reason"]) ?? ""})`)
            .join(", ")}
        </p>
      )}
    </div>
  );
}
