import { useMutation } from "@tanstack/react-query";
import { FlaskConical, Send } from "lucide-react";
import { useId, useMemo, useState, type FormEvent } from "react";
import { useLocation } from "wouter";

import type { ApiProblem } from "../../api/problem";
import { send, useAct } from "../../api/queries";
import type { Shape } from "../../api/types";
import type { Action } from "../../core/commands";
import { reachedWords } from "../../core/eventReach";
import { withValue } from "../../core/form";
import { laidOut, readText, writeText } from "../../core/jsonText";
import { sameJson, type Json } from "../../core/json";
import type { Correction } from "../../core/nearMiss";
import { useParameters } from "../../kit/address";
import { Button } from "../../kit/Button";
import { CopyAs } from "../../kit/CopyAs";
import { Field, TextInput } from "../../kit/Field";
import { JsonEditor } from "../../kit/JsonEditor";
import { Page } from "../../kit/Page";
import { useRepeatKey } from "../../kit/repeatKey";
import { ErrorState } from "../../kit/States";
import { toast } from "../../kit/toast";
import { eventHref, publishHref } from "./links";
import { useKnownPatterns } from "./patterns";
import { NearMisses, Recipients } from "./Recipients";
import styles from "./styles.module.css";

const CRUMBS = [{ label: "Events", href: "/events" }];

interface Content {
  pattern: string;
  payload?: Json;
  correlationId?: string;
}

/** Publish an event: first as a dry run, which shows what it would reach; then for real. `?pattern=` and `?payload=` fill it in. */
export default function PublishPage() {
  const search = useParameters();
  const first = { pattern: search.get("pattern") ?? "", payload: search.get("payload") ?? "{}", correlationId: search.get("correlationId") ?? "" };
  return (
    <Page title="Publish an event" crumbs={CRUMBS}>
      <PublishForm key={JSON.stringify(first)} first={first} />
    </Page>
  );
}

function PublishForm({ first }: { first: { pattern: string; payload: string; correlationId: string } }) {
  const [pattern, setPattern] = useState(first.pattern);
  const [text, setText] = useState(() => laidOut(first.payload));
  const [correlationId, setCorrelationId] = useState(first.correlationId);
  const [, navigate] = useLocation();
  const known = useKnownPatterns();
  const options = useId();
  const repeatKey = useRepeatKey();
  const read = useMemo(() => readText(text), [text]);
  const content = contentOf(pattern, read.isValid ? read.value : undefined, correlationId);
  const dry = useMutation<Shape<"EventAnswer">, ApiProblem, Content>({
    mutationFn: (body) => send("post", "/api/v1/events", { query: { dryRun: true }, body: body as never }),
  });
  const publish = useAct(
    (body: Content) => send("post", "/api/v1/events", { body: { ...body, id: repeatKey(body) } as never }),
    (result) => {
      toast({ text: `Sent: ${reachedWords(result) || "stored, no wait takes it now"}` });
      navigate(eventHref(result.eventId ?? ""));
    },
  );
  const isTried = dry.isSuccess && sameJson(dry.variables, content);
  const error = publish.error ?? dry.error;
  const said = (name: string) => error?.problems.find(({ path }) => path === `$.${name}`)?.message;
  const tryOut = (body: Content) => {
    publish.reset();
    dry.mutate(body);
  };
  const correct = ({ path, value }: Correction) => {
    const payload = withValue(read.isValid ? read.value : undefined, path, value);
    setText(writeText(payload));
    tryOut(contentOf(pattern, payload, correlationId));
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!read.isValid) return;
    if (isTried) publish.mutate(content);
    else tryOut(content);
  };
  const action: Action = { kind: "publish", ...content };
  return (
    <form className={styles["publish"]} onSubmit={submit} noValidate>
      <div className={styles["fields"]}>
        <Field label="Name of the event" help="As waits and triggers name it, such as payment.received." problem={said("pattern")}>
          {(ids) => (
            <>
              <TextInput {...ids} list={options} value={pattern} autoFocus={first.pattern === ""} onChange={({ target }) => setPattern(target.value)} />
              <datalist id={options}>
                {known.map((each) => (
                  <option key={each} value={each} />
                ))}
              </datalist>
            </>
          )}
        </Field>
        <div className={styles["payload"]}>
          <span className={styles["label"]}>Payload</span>
          <JsonEditor label="Payload" value={text} onChange={setText} mostLines={16} />
          {!read.isValid && <p className={styles["problem"]}>{read.problem}</p>}
          {said("payload") !== undefined && <p className={styles["problem"]}>{said("payload")}</p>}
        </div>
        <Field label="Correlation id (optional)" help="A wait with a correlation id takes only events that carry it." problem={said("correlationId")}>
          {(ids) => <TextInput {...ids} value={correlationId} onChange={({ target }) => setCorrelationId(target.value)} />}
        </Field>
        <div className={styles["buttons"]}>
          <Button type={isTried ? "button" : "submit"} look={isTried ? "plain" : "primary"} icon={<FlaskConical />} isPending={dry.isPending} {...(isTried ? { onClick: () => tryOut(content) } : {})}>
            Dry run
          </Button>
          <Button type={isTried ? "submit" : "button"} look={isTried ? "primary" : "plain"} icon={<Send />} isPending={publish.isPending} {...(isTried ? {} : { onClick: () => read.isValid && publish.mutate(content) })}>
            Send
          </Button>
          <CopyAs action={action} link={publishHref(content)} />
        </div>
        {error !== null && <ErrorState isInline error={error} />}
      </div>
      <div className={styles["result"]} aria-live="polite">
        {isTried ? (
          <DryRun
            result={dry.data}
            onCorrect={correct}
            onRename={(name) => {
              setPattern(name);
              tryOut({ ...content, pattern: name });
            }}
          />
        ) : (
          <p className={styles["muted"]}>A dry run shows which instances this event would reach or nearly reach. It stores nothing.</p>
        )}
      </div>
    </form>
  );
}

function DryRun({ result, onCorrect, onRename }: { result: Shape<"EventAnswer">; onCorrect: (correction: Correction) => void; onRename: (name: string) => void }) {
  const targets = result.targets ?? [];
  const near = result.nearMisses ?? [];
  const would = reachedWords(result);
  return (
    <>
      <h2>{would === "" ? "It would reach nothing" : `It would be: ${would}`}</h2>
      {result.duplicate === true && <p className={styles["notice"]}>An event with this id came before: nothing would be done twice.</p>}
      {targets.length > 0 && <Recipients isDry given={targets} />}
      {result.hint !== undefined && <Hint hint={result.hint} onRename={onRename} />}
      {targets.length === 0 && near.length === 0 && result.hint === undefined && <p className={styles["muted"]}>Nothing waits for it now. It would be stored, and a wait that opens later looks back at it.</p>}
      {near.length > 0 && (
        <>
          <h3>Nearly</h3>
          <NearMisses given={near} onCorrect={onCorrect} />
        </>
      )}
    </>
  );
}

/** What the service takes the name for; names in it stand between backquotes. */
function Hint({ hint, onRename }: { hint: string; onRename: (name: string) => void }) {
  const meant = /did you mean `([^`]+)`/.exec(hint)?.[1];
  return (
    <div className={styles["notice"]}>
      <p>{hint.split("`").map((part, place) => (place % 2 === 1 ? <code key={place}>{part}</code> : place === 0 ? part.replace(/^./, (letter) => letter.toUpperCase()) : part))}</p>
      {meant !== undefined && <Button onClick={() => onRename(meant)}>{`Use ${meant}`}</Button>}
    </div>
  );
}

function contentOf(pattern: string, payload: Json | undefined, correlationId: string): Content {
  return { pattern: pattern.trim(), ...(payload === undefined ? {} : { payload }), ...(correlationId === "" ? {} : { correlationId }) };
}
