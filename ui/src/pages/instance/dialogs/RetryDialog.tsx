import { useState } from "react";

import { useMay } from "../../../api/me";
import { send } from "../../../api/queries";
import { isExecuted } from "../../../core/graph";
import { keyOf } from "../../../core/log";
import { inputOf } from "../../../core/stepInput";
import { Button } from "../../../kit/Button";
import { Dialog } from "../../../kit/Dialog";
import { JsonEditor } from "../../../kit/JsonEditor";
import { visible } from "../../../kit/JsonView";
import { ErrorState } from "../../../kit/States";
import { useShared } from "../context";
import { retryOf } from "../model/redo";
import { parsed } from "../model/text";
import styles from "../styles.module.css";
import { RedoList } from "./RedoList";
import { useCommand } from "./useCommand";

/** Retry what failed, in the same instance: says what is kept and what is done again. */
export default function RetryDialog({ onClose }: { onClose: () => void }) {
  const { id, plan, now, isFolded } = useShared();
  const mayEdit = useMay("dead-letters:write");
  const isQuarantined = now.status !== "FAILED";
  const redo = isFolded && !isQuarantined ? retryOf(plan, now) : null;
  const failed = now.lastError;
  const node = failed?.stepId == null ? undefined : now.activations.get(keyOf(failed.stepId, failed.iteration));
  const isTask = node !== undefined && isExecuted(plan.nodes.get(node.step)?.node.type ?? "");
  const known = node === undefined ? undefined : inputOf(plan, now, node, node.attempts.at(-1)).value;
  const [text, setText] = useState<string | null>(null);
  const input = text === null ? null : parsed(text);
  const retry = useCommand(
    () =>
      send("post", "/api/v1/instances/{id}/retry", {
        path: { id },
        body: input === null || node === undefined || input.isWrong ? {} : { edited: { stepId: node.step, iteration: node.iteration, input: input.value } },
      }),
    isQuarantined ? "Released" : "Retried",
    onClose,
  );
  return (
    <Dialog
      title={isQuarantined ? "Release this instance" : "Retry what failed"}
      isOpen
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Not now</Button>
          <Button look="primary" isPending={retry.isPending} disabled={input?.isWrong ?? false} onClick={() => retry.mutate(undefined)}>
            {isQuarantined ? "Release and retry" : "Retry"}
          </Button>
        </>
      }
    >
      <div className={styles["form"]}>
        <p>
          {isQuarantined
            ? "Processes decide on it again, where it stood. If the cause is still there it will be quarantined again."
            : `The same instance goes on, with version ${now.definitionVersion} of the workflow. Failed steps have a fresh budget of attempts.`}
        </p>
        {redo !== null && <RedoList redo={redo} />}
        {mayEdit && isTask && !isQuarantined && (
          <div className={styles["form"]}>
            {text === null ? (
              <Button look="quiet" onClick={() => setText(JSON.stringify(known ?? {}, null, 2))}>
                Give {visible(node.step)} another input
              </Button>
            ) : (
              <>
                <h3>Input of {visible(node.step)}</h3>
                <JsonEditor label={`Input of ${node.step}`} value={text} onChange={setText} mostLines={14} />
                {input?.isWrong === true && <p className={styles["problem"]}>This is not JSON.</p>}
                <Button look="quiet" onClick={() => setText(null)}>
                  Use the input that it failed with
                </Button>
              </>
            )}
          </div>
        )}
        {retry.error !== null && <ErrorState isInline error={retry.error} />}
      </div>
    </Dialog>
  );
}
