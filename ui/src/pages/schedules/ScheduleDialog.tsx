import { useQuery } from "@tanstack/react-query";
import { useId, useMemo, useState, type ReactNode } from "react";
import { useLocation } from "wouter";

import { useMay } from "../../api/me";
import { read, send, useAct } from "../../api/queries";
import { CATCH_UPS, documentOf, draftOf, fieldOf, newDraft, NON_WORKING, OVERLAPS, PRESETS, problemText, skipWords, type PlacedProblem, type ScheduleDraft } from "../../core/schedule";
import { Confirm } from "../../kit/Confirm";
import { Field, TextInput } from "../../kit/Field";
import { visible } from "../../kit/JsonView";
import { JsonEditor } from "../../kit/JsonEditor";
import { fromLocalInput, ownZone, toLocalInput } from "../../kit/localMoments";
import { Notice } from "../../kit/Notice";
import { Select } from "../../kit/Select";
import { ErrorState } from "../../kit/States";
import { toast } from "../../kit/toast";
import { scheduleHref, type Schedule } from "./links";
import { PreviewList } from "./PreviewList";
import styles from "./styles.module.css";
import { usePreview } from "./usePreview";

const KINDS = [
  ["recurring", "Recurring, by a cron expression"],
  ["one-time", "Once"],
] as const;
const LISTED = 8;
const TARGETS = [
  ["workflow", "A workflow"],
  ["task", "A task"],
  ["callback", "A callback over HTTP"],
] as const;
const TARGET_LABELS = { workflow: "Workflow", task: "Task", callback: "Address" } as const;

/** Creates a schedule, or changes one, with what the service says of it while it is typed. */
export function ScheduleDialog({ schedule, workflow, onClose }: { schedule?: Schedule; workflow?: string; onClose: () => void }) {
  const [draft, setDraft] = useState<ScheduleDraft>(() => (schedule === undefined ? newDraft(ownZone(), workflow) : draftOf(schedule, (moment) => toLocalInput(moment, "seconds"))));
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const [, navigate] = useLocation();
  const { document, inputProblem } = useMemo(() => documentOf(draft, fromLocalInput), [draft]);
  const { preview, error, isUpToDate } = usePreview(document);
  const save = useAct(
    () =>
      schedule === undefined
        ? send("post", "/api/v1/schedules", { body: document })
        : send("put", "/api/v1/schedules/{id}", { path: { id: schedule.id }, body: document, headers: { "if-match": `"${schedule.version}"` } }),
    (saved) => {
      toast({ text: schedule === undefined ? "The schedule is saved" : "The schedule is changed" });
      onClose();
      navigate(scheduleHref(saved.id));
    },
  );
  const problems = useMemo<readonly PlacedProblem[]>(() => (preview?.problems ?? []) as readonly PlacedProblem[], [preview]);
  const change = (next: Partial<ScheduleDraft>) => {
    setDraft({ ...draft, ...next });
    setTouched(new Set([...touched, ...Object.keys(next)]));
  };
  // What was not filled in yet is not reproached.
  const at = (name: keyof ScheduleDraft): string =>
    problems
      .filter((each) => fieldOf(each.path) === name && (touched.has(name) || draft[name] !== ""))
      .map(problemText)
      .join(" ");
  const text = (name: "id" | "name" | "cron" | "timezone" | "startDate" | "endDate" | "targetId" | "version" | "span" | "jitter" | "calendar" | "description", label: string, more: { help?: ReactNode; placeholder?: string; list?: string; autoFocus?: boolean; disabled?: boolean } = {}) => {
    const { help, ...rest } = more;
    return (
      <Field label={label} help={help} problem={at(name)}>
        {(ids) => <TextInput {...ids} {...rest} value={draft[name]} onChange={({ target }) => change({ [name]: target.value })} />}
      </Field>
    );
  };
  const select = (name: "overlap" | "catchUp" | "onNonWorking", label: string, options: readonly (readonly [string, string])[]) => (
    <Field label={label} problem={at(name)}>
      {(ids) => <Select {...ids} options={options} value={draft[name]} onChange={({ target }) => change({ [name]: target.value })} />}
    </Field>
  );
  const lists = useKnown();
  const isNew = schedule === undefined;
  return (
    <Confirm
      title={isNew ? "Create a schedule" : `Edit ${schedule.name || schedule.id}`}
      action={isNew ? "Create" : "Save"}
      size="wide"
      isPending={save.isPending}
      isReady={inputProblem === null && (!isUpToDate || preview?.valid !== false)}
      error={save.error}
      onConfirm={() => save.mutate(undefined)}
      onClose={onClose}
    >
      {draft.kept.definition !== undefined && <Notice tone="amber">{`The code of ${visible(draft.kept.definition)} owns this schedule: its next deployment may change it back, or remove it.`}</Notice>}
      <div className={styles["form"]}>
        <div className={styles["fields"]}>
          <div className={styles["pair"]}>
            {text("name", "Name", { autoFocus: true, placeholder: "Nightly report" })}
            {text("id", "Id", { disabled: !isNew, help: isNew ? "Empty: made of the name." : "It stays." })}
          </div>
          <div className={styles["pair"]}>
            <Field label="Starts">{(ids) => <Select {...ids} options={TARGETS} value={draft.target} onChange={({ target }) => change({ target: target.value as ScheduleDraft["target"], targetId: "" })} />}</Field>
            {text("targetId", TARGET_LABELS[draft.target], draft.target === "callback" ? { placeholder: "https://example.com/hook" } : { list: draft.target === "workflow" ? lists.workflows.id : lists.tasks.id })}
          </div>
          <Field label="Times">{(ids) => <Select {...ids} options={KINDS} value={draft.type} onChange={({ target }) => change({ type: target.value as ScheduleDraft["type"] })} />}</Field>
          {draft.type === "recurring" ? (
            <>
              <div className={styles["pair"]}>
                {text("cron", "Cron expression", { help: "Minute, hour, day, month, weekday; with seconds, six fields." })}
                <Field label="Usual ones">
                  {(ids) => (
                    <Select
                      {...ids}
                      options={[["", "Choose…"], ...PRESETS]}
                      value={PRESETS.some(([value]) => value === draft.cron) ? draft.cron : ""}
                      onChange={({ target }) => target.value !== "" && change({ cron: target.value })}
                    />
                  )}
                </Field>
              </div>
              {text("timezone", "Time zone", { list: lists.zones.id })}
            </>
          ) : (
            <Field label="At" help="In your time zone." problem={at("executeAt")}>
              {(ids) => <TextInput {...ids} type="datetime-local" step={1} value={draft.executeAt} onChange={({ target }) => change({ executeAt: target.value })} />}
            </Field>
          )}
          <div className={styles["pair"]}>
            {text("calendar", "Calendar", { list: lists.calendars.id, help: "Only in its working time; empty: always." })}
            {draft.calendar.trim() !== "" && select("onNonWorking", "On other days", NON_WORKING)}
          </div>
          <div className={styles["pair"]}>
            {select("overlap", "If the one before still runs", OVERLAPS)}
            {select("catchUp", "Times missed in an outage", CATCH_UPS)}
          </div>
          <details className={styles["more"]} open={!isNew && (draft.input !== "" || draft.jitter !== "" || draft.startDate !== "" || draft.endDate !== "")}>
            <summary>Input, limits and more</summary>
            <div className={styles["fields"]}>
              <Field label="Input" help="JSON. Templates see schedule.nominal, schedule.previous and schedule.next." problem={inputProblem ?? at("input")}>
                {() => <JsonEditor label="Input" value={draft.input} onChange={(next) => change({ input: next })} mostLines={8} />}
              </Field>
              <div className={styles["pair"]}>
                {draft.target === "workflow" && text("version", "Version", { help: "Empty: the newest at each tick." })}
                {text("span", "Catch up at most", { placeholder: "P1D" })}
                {text("jitter", "Start later by up to", { placeholder: "PT5M" })}
              </div>
              {draft.type === "recurring" && (
                <div className={styles["pair"]}>
                  {text("startDate", "From", { placeholder: "2026-12-01" })}
                  {text("endDate", "Until", { placeholder: "2027-12-31" })}
                </div>
              )}
              {draft.type === "recurring" && (
                <div className={styles["pair"]}>
                  <Field label="Time that summer time leaves out">
                    {(ids) => <Select {...ids} options={[["next", "Start right after"], ["skip", "Skip it"]]} value={draft.missing} onChange={({ target }) => change({ missing: target.value })} />}
                  </Field>
                  <Field label="Time that comes twice">
                    {(ids) => <Select {...ids} options={[["first", "Start at the first"], ["both", "Start at both"]]} value={draft.repeated} onChange={({ target }) => change({ repeated: target.value })} />}
                  </Field>
                </div>
              )}
              {text("description", "Description")}
            </div>
          </details>
        </div>
        <section className={styles["preview"]} aria-label="Preview" aria-busy={!isUpToDate}>
          <h3>When it starts</h3>
          {error !== null && preview === undefined ? (
            <ErrorState isInline error={error} />
          ) : preview === undefined ? null : (
            <>
              <p className={styles["words"]} role="status">
                {preview.inWords === null ? "Its times cannot be read yet." : visible([preview.inWords, skipWords(preview.items)].filter(Boolean).join("; "))}
              </p>
              {preview.inWords !== null && <PreviewList items={preview.items.slice(0, LISTED)} timezone={draft.type === "recurring" ? draft.timezone : ownZone()} />}
              <Others problems={problems} touched={touched} draft={draft} />
            </>
          )}
        </section>
      </div>
      {[lists.workflows, lists.tasks, lists.calendars, lists.zones].map(({ id, names }) => (
        <datalist key={id} id={id}>
          {names.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      ))}
    </Confirm>
  );
}

/** What no field above shows: problems of the whole, and what is still to be filled in. */
function Others({ problems, touched, draft }: { problems: readonly PlacedProblem[]; touched: ReadonlySet<string>; draft: ScheduleDraft }) {
  const isShownAbove = (name: keyof ScheduleDraft | ""): boolean => name !== "" && (touched.has(name) || draft[name] !== "");
  const others = problems.filter((each) => !isShownAbove(fieldOf(each.path)));
  const missing = others.filter((each) => fieldOf(each.path) !== "");
  const whole = others.filter((each) => fieldOf(each.path) === "");
  return (
    <>
      {missing.length > 0 && <p className={styles["muted"]}>Still to be filled in: {missing.map((each) => LABELS[fieldOf(each.path)] ?? each.path).join(", ")}.</p>}
      {whole.length > 0 && (
        <ul className={styles["problems"]}>
          {whole.map((each) => (
            <li key={`${each.code} ${each.message}`}>{problemText(each)}</li>
          ))}
        </ul>
      )}
    </>
  );
}
const LABELS: Partial<Record<string, string>> = { targetId: "what it starts", cron: "the cron expression", executeAt: "its time" };

/** Names that fields may be completed to. */
function useKnown() {
  const id = useId();
  const workflows = useQuery({ ...read("/api/v1/workflows", { query: { limit: 200 } }), enabled: useMay("workflows:read"), staleTime: 30_000 });
  const tasks = useQuery({ ...read("/api/v1/tasks", { query: { limit: 200 } }), enabled: useMay("tasks:read"), staleTime: 30_000 });
  const calendars = useQuery({ ...read("/api/v1/calendars", { query: { limit: 200 } }), staleTime: 30_000 });
  const zones = useMemo(() => [ownZone(), "UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== ownZone())], []);
  return {
    workflows: { id: `${id}workflows`, names: workflows.data?.items.map((each) => each.id) ?? [] },
    tasks: { id: `${id}tasks`, names: tasks.data?.items.map((each) => each.id) ?? [] },
    calendars: { id: `${id}calendars`, names: calendars.data?.items.map((each) => each.id) ?? [] },
    zones: { id: `${id}zones`, names: zones },
  };
}
