import { useState } from "react";

import { send } from "../../../api/queries";
import { Button } from "../../../kit/Button";
import { Dialog } from "../../../kit/Dialog";
import { Field, TextInput } from "../../../kit/Field";
import { ErrorState } from "../../../kit/States";
import { useShared } from "../context";
import styles from "../styles.module.css";
import { useCommand } from "./useCommand";

export default function PauseDialog({ onClose }: { onClose: () => void }) {
  const { id } = useShared();
  const [reason, setReason] = useState("");
  const [until, setUntil] = useState("");
  const pause = useCommand(
    () => send("post", "/api/v1/instances/{id}/pause", { path: { id }, body: { reason: reason || null, until: until === "" ? null : new Date(until).toISOString() } }),
    "Paused",
    onClose,
  );
  return (
    <Dialog
      title="Pause this instance"
      isOpen
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Keep it running</Button>
          <Button look="primary" isPending={pause.isPending} onClick={() => pause.mutate(undefined)}>
            Pause
          </Button>
        </>
      }
    >
      <div className={styles["form"]}>
        <p>Nothing new is dispatched until it is resumed. Tasks that run now go on, and events and timers are recorded.</p>
        <Field label="Reason">{(ids) => <TextInput {...ids} value={reason} onChange={(event) => setReason(event.target.value)} />}</Field>
        <Field label="Resume by itself at" help="In your time zone; empty: only when it is resumed.">
          {(ids) => <TextInput {...ids} type="datetime-local" value={until} onChange={(event) => setUntil(event.target.value)} />}
        </Field>
        {pause.error !== null && <ErrorState isInline error={pause.error} />}
      </div>
    </Dialog>
  );
}
