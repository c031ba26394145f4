import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";

import { read, send } from "../../../api/queries";
import { path } from "../../../core/url";
import { Button } from "../../../kit/Button";
import { Dialog } from "../../../kit/Dialog";
import { Field } from "../../../kit/Field";
import { JsonEditor } from "../../../kit/JsonEditor";
import { visible } from "../../../kit/JsonView";
import { ErrorState } from "../../../kit/States";
import { useShared } from "../context";
import { rerunOf } from "../model/redo";
import { parsed } from "../model/text";
import styles from "../styles.module.css";
import { RedoList } from "./RedoList";
import { useCommand } from "./useCommand";

/** A new instance from this one: from a step on, or all of it, with another input or version. */
export default function RerunDialog({ from: first, onClose }: { from: string | null; onClose: () => void }) {
  const { id, plan, now } = useShared();
  const [, navigate] = useLocation();
  const steps = plan.order.filter((step) => plan.nodes.get(step)?.loop === null);
  const [from, setFrom] = useState(first !== null && steps.includes(first) ? first : null);
  const [version, setVersion] = useState<number | null>(null);
  const [text, setText] = useState<string | null>(null);
  const newest = useQuery({ ...read("/api/v1/workflows/{id}", { path: { id: now.definitionId } }), retry: false });
  const input = text === null ? null : parsed(text);
  const rerun = useCommand(
    () =>
      send("post", "/api/v1/instances/{id}/rerun", {
        path: { id },
        body: { ...(from === null ? {} : { fromStep: from }), ...(version === null ? {} : { version }), ...(input === null || input.isWrong ? {} : { input: input.value }) },
      }),
    "A new instance was started",
    ({ instanceId }) => {
      onClose();
      navigate(path("instances", instanceId));
    },
  );
  const latest = newest.data?.version;
  return (
    <Dialog
      title="Rerun as a new instance"
      isOpen
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Not now</Button>
          <Button look="primary" isPending={rerun.isPending} disabled={input?.isWrong ?? false} onClick={() => rerun.mutate(undefined)}>
            Rerun
          </Button>
        </>
      }
    >
      <div className={styles["form"]}>
        <p>This instance does not change. Steps that run again do their effects again.</p>
        <Field label="From">
          {(ids) => (
            <select {...ids} className={styles["select"]} value={from ?? ""} onChange={(event) => setFrom(event.target.value || null)}>
              <option value="">the start</option>
              {steps.map((step) => (
                <option key={step} value={step}>
                  {visible(step)}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Version" help={latest !== undefined && latest !== now.definitionVersion ? `The newest is version ${latest}.` : undefined}>
          {(ids) => (
            <select {...ids} className={styles["select"]} value={version ?? ""} onChange={(event) => setVersion(event.target.value === "" ? null : Number(event.target.value))}>
              <option value="">the same, {now.definitionVersion}</option>
              {latest !== undefined && latest !== now.definitionVersion && <option value={latest}>the newest, {latest}</option>}
            </select>
          )}
        </Field>
        <RedoList redo={rerunOf(plan, now, from)} />
        {text === null ? (
          <Button look="quiet" onClick={() => setText(JSON.stringify(now.input, null, 2))}>
            Edit the input
          </Button>
        ) : (
          <>
            <h3>Input</h3>
            <JsonEditor label="Input" value={text} onChange={setText} mostLines={14} />
            {input?.isWrong === true && <p className={styles["problem"]}>This is not JSON.</p>}
          </>
        )}
        {rerun.error !== null && <ErrorState isInline error={rerun.error} />}
      </div>
    </Dialog>
  );
}
