import { History, Play, WandSparkles } from "lucide-react";
import { useEffect, useMemo, useRef, useState, type FormEvent } from "react";
import { useLocation } from "wouter";

import { useMay } from "../../api/me";
import { ApiProblem, type ProblemItem } from "../../api/problem";
import { send, useAct } from "../../api/queries";
import type { Action } from "../../core/commands";
import { problemsUnder } from "../../core/formValues";
import { readText, writeText } from "../../core/jsonText";
import type { Json } from "../../core/json";
import { Button } from "../../kit/Button";
import { CopyAs } from "../../kit/CopyAs";
import { JsonEditor } from "../../kit/JsonEditor";
import { useRepeatKey } from "../../kit/repeatKey";
import { SchemaForm } from "../../kit/SchemaForm";
import { ErrorState } from "../../kit/States";
import { Tabs } from "../../kit/Tabs";
import { toast } from "../../kit/toast";
import { instanceHref, startHref } from "./links";
import { PastInputs } from "./PastInputs";
import { problemOf, StartExtras, type Extras } from "./StartExtras";
import styles from "./start.module.css";

interface Props {
  workflow: string;
  schema: Json | undefined;
  /** The version to start; null: the newest. */
  version: number | null;
  newest: number;
  first: string;
  example: string;
  initial: Extras;
  view: string;
  onView: (view: string) => void;
  onVersion: (version: number | null) => void;
  onFrom: (instance: string) => void;
  pastError: unknown;
}

export function StartForm({ workflow, schema, version, newest, first, example, initial, view, onView, onVersion, onFrom, pastError }: Props) {
  const [text, setText] = useState(first);
  const [extras, setExtras] = useState(initial);
  const [isChecked, setIsChecked] = useState(false);
  const [isChoosing, setIsChoosing] = useState(false);
  const [, navigate] = useLocation();
  const mayRead = useMay("instances:read");
  const read = useMemo(() => readText(text), [text]);
  const action = actionOf(workflow, read.isValid ? read.value : undefined, extras, version);
  const repeatKey = useRepeatKey();
  const start = useAct(
    (asked: Action & { kind: "start" }) => {
      const { kind: _, workflow: id, key, ...body } = asked;
      return send("post", "/api/v1/workflows/{id}/start", { path: { id }, body, headers: { "idempotency-key": key ?? repeatKey(body) } });
    },
    ({ instanceId }) => {
      toast({ text: "Started" });
      navigate(instanceHref(instanceId));
    },
  );
  const problems = useMemo(() => placed(start.error), [start.error]);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    // The first field that is refused comes into sight.
    if (start.error !== null) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [start.error]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setIsChecked(true);
    if (read.isValid) start.mutate(action);
  };
  const hasSchema = schema !== undefined;
  const shownView = hasSchema ? view : "json";
  return (
    <form ref={form} className={styles["form"]} onSubmit={submit} noValidate>
      <div className={styles["bar"]}>
        {hasSchema && (
          <Button icon={<WandSparkles />} onClick={() => setText(example)}>
            Fill in an example
          </Button>
        )}
        {mayRead && (
          <Button icon={<History />} onClick={() => setIsChoosing(true)}>
            From a past instance
          </Button>
        )}
      </div>
      {pastError !== null && <ErrorState isInline error={pastError} />}
      <Tabs
        label="The input"
        chosen={shownView}
        onChoose={onView}
        tabs={[
          ...(hasSchema
            ? [
                {
                  id: "form",
                  label: "Form",
                  content: (
                    <div className={styles["pane"]}>
                      {read.isValid ? (
                        <SchemaForm schema={schema} value={read.value} onChange={(value) => setText(writeText(value))} problems={problems.inside} isChecked={isChecked} />
                      ) : (
                        <p className={styles["problem"]}>{read.problem} Mend it in the JSON tab, or fill in an example.</p>
                      )}
                    </div>
                  ),
                },
              ]
            : []),
          {
            id: "json",
            label: "JSON",
            content: (
              <div className={styles["pane"]}>
                {!hasSchema && <p className={styles["muted"]}>This workflow has no input schema: it takes any JSON.</p>}
                <JsonEditor label="Input" value={text} onChange={setText} mostLines={24} />
                {!read.isValid && <p className={styles["problem"]}>{read.problem}</p>}
              </div>
            ),
          },
        ]}
      />
      <StartExtras extras={extras} onChange={setExtras} version={version} newest={newest} onVersion={onVersion} problems={problems.outside} />
      <div className={styles["foot"]}>
        {start.error !== null && (
          <div className={styles["refusal"]}>
            <ErrorState isInline error={shownView === "form" ? withProblems(start.error, problems.outside.filter(({ path }) => !problemOf(path))) : start.error} />
          </div>
        )}
        <Button type="submit" look="primary" icon={<Play />} isPending={start.isPending}>
          Start
        </Button>
        <CopyAs action={action} link={linkOf(action)} />
      </div>
      {isChoosing && (
        <PastInputs
          workflow={workflow}
          onClose={() => setIsChoosing(false)}
          onChoose={(instance) => {
            setIsChoosing(false);
            onFrom(instance);
          }}
        />
      )}
    </form>
  );
}

function actionOf(workflow: string, input: Json | undefined, extras: Extras, version: number | null): Action & { kind: "start" } {
  const { key, correlationId, priority, deadline } = extras;
  return {
    kind: "start",
    workflow,
    ...(input === undefined ? {} : { input }),
    ...(key === "" ? {} : { key }),
    ...(correlationId === "" ? {} : { correlationId }),
    // What is no number is sent as it is, and refused by the service.
    ...(priority === "" ? {} : { priority: (Number.isFinite(Number(priority)) ? Number(priority) : priority) as number }),
    ...(deadline === "" ? {} : { deadline: momentOf(deadline) }),
    ...(version === null ? {} : { version }),
  };
}

/** The moment of a field that is in the viewer's zone. */
function momentOf(text: string): string {
  const at = Date.parse(text);
  return Number.isNaN(at) ? text : new Date(at).toISOString();
}

/** What the input's schema refuses is named from the input on; anything else from the request on. */
function placed(error: ApiProblem | null): { inside: ProblemItem[]; outside: ProblemItem[] } {
  const problems = error?.problems ?? [];
  return error?.details.reason === "INVALID_INPUT" ? { inside: [...problems], outside: [] } : problemsUnder(problems, "$.input");
}

/** The same refusal, with the problems that no field shows. */
const withProblems = (error: ApiProblem, problems: ApiProblem["problems"]): ApiProblem =>
  new ApiProblem(error.status, { ...error.details, problems: [...problems] }, error.retryAfter);

function linkOf(action: Action & { kind: "start" }): string {
  const params = new URLSearchParams();
  if (action.input !== undefined) params.set("input", JSON.stringify(action.input));
  for (const name of ["key", "correlationId", "priority", "deadline", "version"] as const) {
    if (action[name] !== undefined) params.set(name, String(action[name]));
  }
  return `${startHref(action.workflow)}?${params.toString()}`;
}
