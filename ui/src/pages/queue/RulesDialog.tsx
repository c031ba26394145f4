import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Plus, Trash2 } from "lucide-react";
import { useEffect, useId, useState } from "react";

import { read, send, useAct } from "../../api/queries";
import { isUnder } from "../../core/formValues";
import { Button, IconButton } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { Field, TextInput } from "../../kit/Field";
import { visible } from "../../kit/JsonView";
import { Moment } from "../../kit/Moment";
import { Notice } from "../../kit/Notice";
import { Prose } from "../../kit/Prose";
import { Stack } from "../../kit/Stack";
import { ErrorState, Loading } from "../../kit/States";
import { toast } from "../../kit/toast";
import { EMPTY, isWhole, matchWords, missing, ruleOf, ruleWords, type Rule, type RuleDraft } from "./rules";
import styles from "./styles.module.css";

const PATH = "/api/v1/queue/rules";
const TYPING_MS = 300;

/** The rules of the queue: which there are, a way to remove one, and a new one, whose effect is seen before it is saved. */
export function RulesDialog({ mayChange, onClose }: { mayChange: boolean; onClose: () => void }) {
  const rules = useQuery({ ...read(PATH), staleTime: 0 });
  const [isAdding, setIsAdding] = useState(false);
  return (
    <Dialog title="Rules of the queue" isOpen size="wide" onClose={onClose}>
      <Stack>
        <p className={styles["muted"]}>A rule gives a priority to instances, or holds them back until they are released. It applies to those that wait and to new ones.</p>
        {rules.data === undefined ? (
          rules.error === null ? <Loading label="Loading the rules" /> : <ErrorState isInline error={rules.error} onRetry={() => void rules.refetch()} />
        ) : (
          <RuleList rules={rules.data.items} mayChange={mayChange} />
        )}
        {mayChange && !isAdding && (
          <div>
            <Button icon={<Plus />} onClick={() => setIsAdding(true)}>
              Add rule
            </Button>
          </div>
        )}
        {isAdding && <NewRule onDone={() => setIsAdding(false)} />}
      </Stack>
    </Dialog>
  );
}

function RuleList({ rules, mayChange }: { rules: readonly Rule[]; mayChange: boolean }) {
  const [asked, setAsked] = useState<string | null>(null);
  const remove = useAct(
    (id: string) => send("delete", `${PATH}/{id}`, { path: { id } }),
    () => {
      setAsked(null);
      toast({ text: "The rule is removed" });
    },
  );
  if (rules.length === 0) return <p>There is no rule.</p>;
  return (
    <>
      <ul className={styles["rules"]} aria-label="Rules">
        {rules.map((rule) => (
          <li key={rule.id}>
            <div className={styles["rule"]}>
              <code>{visible(rule.when)}</code>
              <span>
                {ruleWords(rule)}
                {rule.note !== null && rule.note !== undefined && <span className={styles["muted"]}> · {visible(rule.note)}</span>}
                <span className={styles["muted"]}>
                  {" · "}
                  <Moment at={rule.createdAt} />
                </span>
              </span>
            </div>
            {mayChange && asked !== rule.id && <IconButton label={`Remove the rule ${visible(rule.when)}`} icon={<Trash2 />} onClick={() => setAsked(rule.id)} />}
            {asked === rule.id && (
              <div className={styles["choices"]} role="group" aria-label="Remove this rule?">
                <Button look="danger" autoFocus isPending={remove.isPending} onClick={() => remove.mutate(rule.id)}>
                  Remove
                </Button>
                <Button onClick={() => setAsked(null)}>Keep</Button>
              </div>
            )}
          </li>
        ))}
      </ul>
      {asked !== null && <p className={styles["muted"]}>What the rule did to those that wait stays.</p>}
      {remove.error !== null && <ErrorState isInline error={remove.error} />}
    </>
  );
}

function NewRule({ onDone }: { onDone: () => void }) {
  const [draft, setDraft] = useState(EMPTY);
  const [isConfirmed, setIsConfirmed] = useState(false);
  const id = useId();
  const change = (part: Partial<RuleDraft>) => {
    setIsConfirmed(false);
    setDraft((before) => ({ ...before, ...part }));
  };
  const gap = missing(draft);
  const isWrong = !isWhole(draft.priority);
  const body = ruleOf(draft);
  const { found, isSettled } = useDryRun(body, gap === "" && !isWrong);
  const save = useAct(
    () => send("post", PATH, { body: { ...body, confirm: isConfirmed } }),
    ({ matched, isComplete }) => {
      toast({ text: isComplete === false ? "The rule is saved, and still being applied" : `The rule is saved; it applies to ${matched ?? 0} that wait` });
      onDone();
    },
  );
  const refused = save.error ?? (isSettled ? found.error : null);
  const at = (place: string): string =>
    (refused?.problems ?? [])
      .filter((each) => isUnder(each.path, place))
      .map(({ message, advice }) => `${message}. ${advice}`)
      .join(" ");
  const matchesAll = found.data?.matchesAll === true;
  const isReady = gap === "" && !isWrong && isSettled && found.data !== undefined && found.error === null && (!matchesAll || isConfirmed);
  return (
    <form
      className={styles["form"]}
      aria-label="New rule"
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady && !save.isPending) save.mutate(undefined);
      }}
    >
      <Stack>
        <Field label="When" help="An expression over ctx.input, workflow.id, workflow.version and workflow.instance (priority, deadline, correlationId, user)." problem={said(at("$.when"))}>
          {(ids) => <TextInput {...ids} autoFocus placeholder="ctx.input.tier === 'gold'" value={draft.when} onChange={({ target }) => change({ when: target.value })} />}
        </Field>
        <Field label="Priority" help="Of those that match; the highest goes first, where the order of the queue is by priority. Empty: as it is." problem={isWrong ? `“${draft.priority.trim()}” is no whole number.` : said(at("$.priority"))}>
          {(ids) => <TextInput {...ids} inputMode="numeric" value={draft.priority} onChange={({ target }) => change({ priority: target.value })} />}
        </Field>
        <label className={styles["check"]}>
          <input type="checkbox" checked={draft.hold} onChange={({ target }) => change({ hold: target.checked })} />
          Hold them back until they are released
        </label>
        <Field label="Note" problem={said(at("$.note"))}>
          {(ids) => <TextInput {...ids} value={draft.note} onChange={({ target }) => change({ note: target.value })} />}
        </Field>
      </Stack>
      <section className={styles["effect"]} aria-label="What it would do" aria-live="polite">
        <h3>What it would do</h3>
        <Stack>
          {gap !== "" || isWrong ? (
            <p className={styles["muted"]}>{gap === "" ? "This rule cannot be saved." : gap}</p>
          ) : refused !== null ? (
            at("$") === "" ? <ErrorState isInline error={refused} /> : <p className={styles["muted"]}>This rule cannot be saved.</p>
          ) : found.data === undefined ? (
            <Loading label="Asking what it would do" />
          ) : (
            <p className={isSettled ? undefined : styles["stale"]}>{matchWords(found.data)}</p>
          )}
          {matchesAll && refused === null && gap === "" && !isWrong && (
            <Notice tone="amber">
              <label className={styles["check"]} htmlFor={`${id}-all`}>
                <input id={`${id}-all`} type="checkbox" checked={isConfirmed} onChange={({ target }) => setIsConfirmed(target.checked)} />
                It matches everything, as far as is known: apply it all the same
              </label>
            </Notice>
          )}
          <div className={styles["choices"]}>
            <Button look="primary" type="submit" isPending={save.isPending} disabled={!isReady}>
              Save rule
            </Button>
            <Button onClick={onDone}>Cancel</Button>
          </div>
        </Stack>
      </section>
    </form>
  );
}

const said = (text: string) => (text === "" ? null : <Prose text={text} />);

/** The service's dry run of what is edited, once the typing has paused. */
function useDryRun(body: object, isWanted: boolean) {
  const text = JSON.stringify(body);
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const isSettled = settled === text;
  const found = useQuery({
    queryKey: [PATH, "dry run", settled],
    queryFn: () => send("post", PATH, { body: { ...(JSON.parse(settled) as { when: string }), dryRun: true } }),
    enabled: isWanted && isSettled,
    placeholderData: keepPreviousData,
    staleTime: 2_000,
    retry: false,
  });
  return { found, isSettled: isSettled && !found.isFetching };
}
