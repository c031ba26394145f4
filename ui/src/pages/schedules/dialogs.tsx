import { useState } from "react";
import { useLocation } from "wouter";

import { send, useAct } from "../../api/queries";
import { counted } from "../../core/format";
import { OVERLAPS } from "../../core/schedule";
import { path } from "../../core/url";
import { Button } from "../../kit/Button";
import { Confirm } from "../../kit/Confirm";
import { Field, TextInput } from "../../kit/Field";
import { fromLocalInput, toLocalInput } from "../../kit/localMoments";
import { Notice } from "../../kit/Notice";
import { useRepeatKey } from "../../kit/repeatKey";
import { Select } from "../../kit/Select";
import { toast } from "../../kit/toast";
import { serviceNow } from "../../state/clock";
import type { Schedule } from "./links";
import styles from "./styles.module.css";

interface Props {
  schedule: Schedule;
  onClose: () => void;
}

export function PauseDialog({ schedule: { id }, onClose }: Props) {
  const [note, setNote] = useState("");
  const pause = useAct(
    () => send("post", "/api/v1/schedules/{id}/pause", { path: { id }, body: { note: note.trim() || null } }),
    () => {
      toast({ text: "The schedule is paused" });
      onClose();
    },
  );
  return (
    <Confirm title="Pause the schedule" action="Pause" isPending={pause.isPending} error={pause.error} onClose={onClose} onConfirm={() => pause.mutate(undefined)}>
      <p>Its times are passed over until it is resumed. Instances that run go on.</p>
      <Field label="Note" help="Why it is paused; shown beside it.">
        {(ids) => <TextInput {...ids} autoFocus value={note} onChange={({ target }) => setNote(target.value)} />}
      </Field>
    </Confirm>
  );
}

export function TriggerDialog({ schedule: { id }, onClose }: Props) {
  const [at, setAt] = useState("");
  const [, navigate] = useLocation();
  const trigger = useAct(
    () => send("post", "/api/v1/schedules/{id}/trigger", { path: { id }, body: { at: at === "" ? null : fromLocalInput(at) } }),
    (tick) => {
      toast({ text: tick.outcome === "started" ? "Started" : `The tick is ${tick.outcome}${tick.reason == null ? "" : `: ${tick.reason}`}` });
      onClose();
      if (tick.instanceId != null) navigate(path("instances", tick.instanceId));
    },
  );
  return (
    <Confirm title="Trigger now" action="Start" isPending={trigger.isPending} error={trigger.error} onClose={onClose} onConfirm={() => trigger.mutate(undefined)}>
      <p>Starts what the schedule starts at once, also while it is paused. Its own times stay as they are.</p>
      <Field label="As the tick of" help="The time that templates see as schedule.nominal, in your time zone; empty: now.">
        {(ids) => <TextInput {...ids} type="datetime-local" value={at} onChange={({ target }) => setAt(target.value)} />}
      </Field>
    </Confirm>
  );
}

const DAY = 86_400_000;

/** Starts what was not started in a range: counted before, then an operation with progress. */
export function BackfillDialog({ schedule: { id }, onClose }: Props) {
  const [from, setFrom] = useState(() => toLocalInput(serviceNow() - DAY));
  const [to, setTo] = useState(() => toLocalInput(serviceNow()));
  const [concurrency, setConcurrency] = useState("10");
  const [overlap, setOverlap] = useState("allow");
  const [, navigate] = useLocation();
  const keyOf = useRepeatKey();
  const body = (dryRun: boolean) => ({ from: fromLocalInput(from), to: fromLocalInput(to), concurrency: Number(concurrency), overlap: overlap as "allow" | "skip" | "queue" | "cancel-running", dryRun });
  const count = useAct(() => send("post", "/api/v1/schedules/{id}/backfill", { path: { id }, body: body(true) }));
  const begin = useAct(
    () => send("post", "/api/v1/schedules/{id}/backfill", { path: { id }, body: body(false), headers: { "idempotency-key": keyOf([id, body(false)]) } }),
    (operation) => {
      onClose();
      navigate(`${path("operations", operation.id ?? "")}?of=${operation.matched || count.data?.matched || ""}`);
    },
  );
  const change = (set: (value: string) => void) => (value: string) => {
    set(value);
    count.reset();
    begin.reset();
  };
  return (
    <Confirm
      title="Backfill"
      action={count.data === undefined ? "Count" : "Start what was not started"}
      isPending={count.isPending || begin.isPending}
      isReady={from !== "" && to !== "" && /^\d+$/.test(concurrency) && count.data?.matched !== 0}
      error={count.error ?? begin.error}
      onClose={onClose}
      onConfirm={() => (count.data === undefined ? count.mutate(undefined) : begin.mutate(undefined))}
    >
      <p>Starts the times of a range that were not started: first it counts the times of the range, then it begins, with progress, and can be stopped.</p>
      <div className={styles["pair"]}>
        <Field label="From" help="In your time zone.">
          {(ids) => <TextInput {...ids} type="datetime-local" value={from} onChange={({ target }) => change(setFrom)(target.value)} />}
        </Field>
        <Field label="To">{(ids) => <TextInput {...ids} type="datetime-local" value={to} onChange={({ target }) => change(setTo)(target.value)} />}</Field>
      </div>
      <div className={styles["pair"]}>
        <Field label="At the same time" help="So many of its instances run at once.">
          {(ids) => <TextInput {...ids} type="number" min={1} max={100} value={concurrency} onChange={({ target }) => change(setConcurrency)(target.value)} />}
        </Field>
        <Field label="If the one before still runs">{(ids) => <Select {...ids} options={OVERLAPS} value={overlap} onChange={({ target }) => change(setOverlap)(target.value)} />}</Field>
      </div>
      {count.data !== undefined && <Notice tone={count.data.matched === 0 ? "amber" : "blue"}>{count.data.matched === 0 ? "No time of the schedule is in this range." : `${counted(count.data.matched, "tick")} in this range; those that were started already stay as they are.`}</Notice>}
    </Confirm>
  );
}

export function RemoveDialog({ schedule: { id }, onClose }: Props) {
  const [, navigate] = useLocation();
  const remove = useAct(
    () => send("delete", "/api/v1/schedules/{id}", { path: { id } }),
    () => {
      toast({ text: "The schedule is removed" });
      navigate("/schedules");
    },
  );
  return (
    <Confirm title="Remove the schedule" action="Remove" isDanger isPending={remove.isPending} error={remove.error} onClose={onClose} onConfirm={() => remove.mutate(undefined)}>
      <p>It starts nothing more. Instances that it has started go on.</p>
    </Confirm>
  );
}

/** Resume needs no question. */
export function ResumeButton({ schedule: { id } }: { schedule: Schedule }) {
  const resume = useAct(
    () => send("post", "/api/v1/schedules/{id}/resume", { path: { id }, body: {} }),
    () => toast({ text: "The schedule is resumed" }),
  );
  return (
    <Button look="primary" isPending={resume.isPending} onClick={() => resume.mutate(undefined)}>
      Resume
    </Button>
  );
}
