import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { Fragment, useEffect, useId, useState } from "react";

import { useMe } from "../../api/me";
import { read, send, useAct } from "../../api/queries";
import { isUnder } from "../../core/formValues";
import { count } from "../../core/format";
import { Button, IconButton } from "../../kit/Button";
import { Confirm } from "../../kit/Confirm";
import { Field, TextInput } from "../../kit/Field";
import { visible } from "../../kit/JsonView";
import { Notice } from "../../kit/Notice";
import { Prose } from "../../kit/Prose";
import { Select } from "../../kit/Select";
import { Stack } from "../../kit/Stack";
import { ErrorState, Loading } from "../../kit/States";
import { Dialog } from "../../kit/Dialog";
import { toast } from "../../kit/toast";
import { differences, documentOf, draftOf, hasWrongRows, limitName, notNumbers, previewWords, rebased, rowProblems, type Draft, type Limits, type Preview, type Row } from "./limits";
import { LoadLimit } from "./LoadLimit";
import styles from "./styles.module.css";

const PATH = "/api/v1/concurrency";
const TYPING_MS = 300;
const CHANGED_MEANWHILE = 412;
const ORDERS = [
  ["fifo", "First come, first served"],
  ["priority", "By priority, and time waited"],
  ["deadline", "Earliest deadline first"],
] as const;

/** Changes limits: while they are edited, the service says what they would do. */
export function LimitsDialog({ onClose }: { onClose: () => void }) {
  // Read once for each opening: what is edited is not replaced by a later read.
  const present = useQuery({ ...read(PATH), queryKey: [PATH, "to edit"], gcTime: 0, staleTime: Infinity });
  if (present.data === undefined)
    return (
      <Dialog title="Change limits" isOpen size="wide" onClose={onClose}>
        {present.error === null ? <Loading label="Loading the limits" /> : <ErrorState isInline error={present.error} onRetry={() => void present.refetch()} />}
      </Dialog>
    );
  return <Form first={present.data} onClose={onClose} />;
}

function Form({ first, onClose }: { first: Limits; onClose: () => void }) {
  // What is edited belongs to the limits that were read when it began: a later read changes nothing under the hand.
  const [base, setBase] = useState(first);
  const [draft, setDraft] = useState(() => draftOf(first));
  const isOfService = ["local", "system"].includes(useMe()?.principal?.kind ?? "");
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));
  const body = documentOf(draft, base);
  const isChanged = differences(draftOf(base), draft).length > 0;
  const wrong = notNumbers(draft);
  const isWrong = Object.keys(wrong).length > 0 || hasWrongRows(draft);
  const preview = usePreview(body, base.version, isChanged && !isWrong);
  const save = useAct(
    () => send("put", PATH, { body, headers: { "if-match": `"${base.version}"` } }),
    () => {
      toast({ text: "The limits are saved" });
      onClose();
    },
  );
  const isOutdated = (save.error ?? preview.error)?.status === CHANGED_MEANWHILE;
  const refused = isOutdated ? null : (save.error ?? preview.error);
  const at = (place: string, field?: keyof Draft): string =>
    (field !== undefined ? wrong[field] : undefined) ??
    (refused?.problems ?? [])
      .filter((each) => isUnder(each.path, place))
      .map(({ message }) => message)
      .join(" ");
  const map = (field: "workflows" | "tenants" | "users" | "shares", place: string, title: string, help: string, isLocked = false) => (
    <Rows title={title} help={help} problem={at(place, field)} rows={draft[field]} isLocked={isLocked} value={field === "shares" ? "Weight" : "Limit"} onChange={(rows) => change({ [field]: rows })} />
  );
  return (
    <Confirm
      title="Change limits"
      action="Save"
      size="wide"
      isPending={save.isPending}
      isReady={isChanged && !isWrong && refused === null && !isOutdated}
      error={at("$") === "" ? refused : null}
      onConfirm={() => save.mutate(undefined)}
      onClose={onClose}
    >
      <div className={styles["form"]}>
        <Stack>
          <Field label="All instances" help={isOfService ? "How many run at once in the whole service. Empty: no limit." : "Only an admin of the whole service changes it."} problem={at("$.globalMaxConcurrent", "global")}>
            {(ids) => <TextInput {...ids} autoFocus={isOfService} inputMode="numeric" disabled={!isOfService} placeholder="No limit" value={draft.global} onChange={({ target }) => change({ global: target.value })} />}
          </Field>
          {map("workflows", "$.workflowTypeLimits", "Workflows", "By the id of the workflow; * is each one that is not named.")}
          {map("users", "$.userLimits", "Users", "By the principal that starts an instance; * is each one that is not named.")}
          {(isOfService || draft.tenants.length > 0) && map("tenants", "$.tenantLimits", "Tenants", "* is each tenant that is not named.", !isOfService)}
          <Field label="Order of the queue" problem={at("$.queue.order")}>
            {(ids) => <Select {...ids} disabled={!isOfService} options={ORDERS} value={draft.order} onChange={({ target }) => change({ order: target.value as Draft["order"] })} />}
          </Field>
          {isOfService && (
            <details className={styles["more"]}>
              <summary>More of the queue</summary>
              <Stack>
                <Field label="Most that wait" help="Further starts are refused, with the time after which to try again. Empty: no bound." problem={at("$.queue.bound", "bound")}>
                  {(ids) => <TextInput {...ids} inputMode="numeric" placeholder="No bound" value={draft.bound} onChange={({ target }) => change({ bound: target.value })} />}
                </Field>
                <Field label="Aging" help="So long a wait counts as much as one step of priority: PT1M is a minute." problem={at("$.queue.aging")}>
                  {(ids) => <TextInput {...ids} value={draft.aging} onChange={({ target }) => change({ aging: target.value })} />}
                </Field>
                {map("shares", "$.queue.perTenantShare", "Shares of tenants", "How often each tenant has its turn, beside the others; 1 where none is given.")}
              </Stack>
            </details>
          )}
          {(isOfService || draft.follows) && <LoadLimit draft={draft} effective={base.effective ?? null} isLocked={!isOfService} at={at} onChange={change} />}
        </Stack>
        <section className={styles["effect"]} aria-label="What it would do" aria-live="polite">
          <h3>What it would do</h3>
          {isOutdated ? (
            <Outdated base={base} draft={draft} onRebase={(newest, kept) => {
              setBase(newest);
              setDraft(kept);
              save.reset();
            }} />
          ) : (
            <Effect isChanged={isChanged} isPending={preview.isFetching} preview={preview.data?.preview ?? null} warnings={preview.data?.warnings ?? []} isRefused={isWrong || refused !== null} />
          )}
        </section>
      </div>
    </Confirm>
  );
}

/** The service's dry run of what is edited, once the typing has paused. */
function usePreview(body: Record<string, unknown>, version: number, isWanted: boolean) {
  const text = JSON.stringify(body);
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return useQuery({
    queryKey: [PATH, "preview", version, settled],
    queryFn: () => send("put", PATH, { query: { dryRun: true }, body: JSON.parse(settled) as unknown, headers: { "if-match": `"${version}"` } }),
    enabled: isWanted && settled === text,
    placeholderData: keepPreviousData,
    staleTime: 2_000,
    retry: false,
  });
}

function Effect({ isChanged, isPending, preview, warnings, isRefused }: { isChanged: boolean; isPending: boolean; preview: Preview | null; warnings: readonly { code: string; message: string; advice: string }[]; isRefused: boolean }) {
  if (!isChanged) return <p className={styles["muted"]}>Change a number, and see here which instances would begin and which would wait. Nothing is saved before you press Save.</p>;
  if (isRefused) return <p className={styles["muted"]}>These limits cannot be saved.</p>;
  if (preview === null) return <Loading label="Asking what it would do" />;
  return (
    <div className={isPending ? styles["stale"] : undefined}>
      <Stack>
        <p>{previewWords(preview)}</p>
        {warnings.map(({ code, message, advice }) => (
          <Notice key={message} tone="amber">
            <Prose text={message} /> <span className={styles["muted"]}><Prose text={advice} /> ({code})</span>
          </Notice>
        ))}
        {preview.limits.length > 0 && <Changes preview={preview} />}
        <p className={styles["muted"]}>Instances that run go on in any case: none is ended.</p>
      </Stack>
    </div>
  );
}

function Changes({ preview }: { preview: Preview }) {
  return (
    <table className={styles["changes"]}>
      <thead>
        <tr>
          <th scope="col">Limit</th>
          <th scope="col">Of</th>
          <th scope="col">Held</th>
          <th scope="col">Waiting</th>
        </tr>
      </thead>
      <tbody>
        {preview.limits.slice(0, 50).map(({ limit, before, after }) => (
          <tr key={limit}>
            <th scope="row" title={limit}>{visible(limitName(limit))}</th>
            <Step one={before.max} other={after.max} />
            <Step one={before.held} other={after.held} />
            <Step one={before.waiting} other={after.waiting} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A number, and what it would become where that is another. */
function Step({ one, other }: { one: number | null; other: number | null }) {
  const say = (value: number | null) => (value === null ? "none" : count(value));
  return <td>{one === other ? say(one) : <><span className={styles["muted"]}>{say(one)} →</span> <b>{say(other)}</b></>}</td>;
}

/** Others saved limits after these were read: what they changed, and a way to go on with both. */
function Outdated({ base, draft, onRebase }: { base: Limits; draft: Draft; onRebase: (newest: Limits, kept: Draft) => void }) {
  const newest = useQuery({ ...read(PATH), staleTime: 0 });
  if (newest.data === undefined || newest.data.version === base.version) return <Loading label="Loading the newest limits" />;
  const found = newest.data;
  const theirs = differences(draftOf(base), draftOf(found));
  return (
    <Notice tone="amber">
      <Stack>
        <p>The limits were changed while you edited them. Yours are not saved.</p>
        <ul className={styles["theirs"]}>
          {theirs.map((each) => (
            <li key={each}>{visible(each)}</li>
          ))}
        </ul>
        <div className={styles["choices"]}>
          <Button look="primary" onClick={() => onRebase(found, rebased(draft, draftOf(base), draftOf(found)))}>
            Keep my edits on top
          </Button>
          <Button onClick={() => onRebase(found, draftOf(found))}>Drop my edits</Button>
        </div>
      </Stack>
    </Notice>
  );
}

function Rows({ title, help, problem, rows, isLocked, value, onChange }: { title: string; help: string; problem: string; rows: readonly Row[]; isLocked: boolean; value: string; onChange: (rows: readonly Row[]) => void }) {
  const id = useId();
  const set = (place: number, part: Partial<Row>) => onChange(rows.map((row, number) => (number === place ? { ...row, ...part } : row)));
  const one = title.toLowerCase().replace(/s( |$)/, "$1");
  const wrong = rowProblems(rows);
  const pointed = (place: number) => (wrong[place] === "" ? {} : { "aria-invalid": true, "aria-describedby": `${id}-${place}` });
  return (
    <fieldset className={styles["rows"]} aria-describedby={`${id}-help`}>
      <legend>{title}</legend>
      {rows.map((row, place) => (
        <Fragment key={place}>
          <div className={styles["row"]}>
            <TextInput aria-label={`${title}: name ${place + 1}`} {...pointed(place)} disabled={isLocked} placeholder="Name, or *" value={row.name} onChange={({ target }) => set(place, { name: target.value })} />
            <TextInput aria-label={`${value} of ${row.name || `${one} ${place + 1}`}`} {...pointed(place)} inputMode="numeric" disabled={isLocked} placeholder="Number" value={row.max} onChange={({ target }) => set(place, { max: target.value })} />
            <IconButton label={`Remove ${row.name || `${one} ${place + 1}`}`} icon={<X />} disabled={isLocked} onClick={() => onChange(rows.filter((_, number) => number !== place))} />
          </div>
          {wrong[place] !== "" && (
            <p id={`${id}-${place}`} className={styles["problem"]}>
              {visible(wrong[place] ?? "")}
            </p>
          )}
        </Fragment>
      ))}
      {!isLocked && (
        <Button look="quiet" icon={<Plus />} onClick={() => onChange([...rows, { name: "", max: "" }])}>
          Add {one}
        </Button>
      )}
      <p id={`${id}-help`} className={problem === "" ? styles["muted"] : styles["problem"]}>
        {problem === "" ? help : <Prose text={problem} />}
      </p>
    </fieldset>
  );
}
