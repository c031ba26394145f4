import { useMemo, useState } from "react";

import { contextDiff } from "../../../core/diff";
import type { Variable } from "../../../core/fold";
import { count, size } from "../../../core/format";
import type { Json } from "../../../core/json";
import { keyOf } from "../../../core/log";
import { CopyButton } from "../../../kit/CopyButton";
import { JsonView, visible } from "../../../kit/JsonView";
import { StatusBadge } from "../../../kit/StatusBadge";
import { EmptyState } from "../../../kit/States";
import { useShared } from "../context";
import styles from "../styles.module.css";

/** The values that expressions see, each with the step that wrote it; of an earlier moment, what has changed since. */
export default function ContextTab() {
  const { shown, now, selection, select, isFolded } = useShared();
  const [search, setSearch] = useState("");
  const [isDiff, setIsDiff] = useState(false);
  const isPast = selection.at !== null && shown !== now;
  const scope = scopeOf(shown, selection.iteration, selection.step);
  const rows = useMemo<[string, Json, Variable | null][]>(() => {
    const variables = [...scope].map(([name, variable]): [string, Json, Variable | null] => [name, variable.value, variable]);
    const output: [string, Json, Variable | null][] = shown.output === undefined ? [] : [["output", shown.output, null]];
    return [["input", shown.input, null] as [string, Json, Variable | null], ...variables, ...output].filter(([name, value]) => matches(search, name, value));
  }, [shown, scope, search]);
  return (
    <div className={styles["contextTab"]}>
      <div className={styles["filters"]}>
        <input className={styles["search"]} type="search" aria-label="Search the context" placeholder="Search names and values" value={search} onChange={(event) => setSearch(event.target.value)} />
        {isPast && (
          <label className={styles["check"]}>
            <input type="checkbox" checked={isDiff} onChange={(event) => setIsDiff(event.target.checked)} />
            What has changed since
          </label>
        )}
        {!isFolded && <span className={styles["muted"]}>Which step set a value is known once the whole log was read.</span>}
      </div>
      {isDiff && isPast ? (
        <Changes />
      ) : rows.length === 0 ? (
        <EmptyState title="No value matches">The search looks at names and at the text of values.</EmptyState>
      ) : (
        <ul className={styles["values"]}>
          {rows.map(([name, value, variable]) => (
            <li key={name} className={styles["value"]}>
              <header>
                <code className={styles["name"]}>{visible(name)}</code>
                <span className={styles["muted"]}>
                  {variable === null ? (
                    name === "input" ? "what it was started with" : "what the end steps collected"
                  ) : variable.step === "" ? null : (
                    <>
                      set by{" "}
                      <button type="button" className={styles["stepLink"]} onClick={() => select({ step: variable.step, iteration: variable.iteration, attempt: variable.attempt, entry: null, part: "output" })}>
                        {visible(keyOf(variable.step, variable.iteration))}
                      </button>
                      {variable.attempt > 1 && ` #${variable.attempt}`} at{" "}
                      <button type="button" className={styles["stepLink"]} onClick={() => select({ tab: "log", entry: variable.seq, part: "entry", step: variable.step, iteration: variable.iteration })}>
                        entry {variable.seq}
                      </button>
                      {variable.before.length > 0 && `, written ${count(variable.before.length + 1)} times`}
                    </>
                  )}
                  {" · "}
                  {size(JSON.stringify(value)?.length ?? 0)}
                </span>
                {templateOf(name, variable) !== null && <CopyButton text={templateOf(name, variable) ?? ""} label={`Copy ${templateOf(name, variable)}`} />}
              </header>
              <JsonView value={value} label={name} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** How a definition names the value; null: nothing can, since the output is made at the end. */
function templateOf(name: string, variable: Variable | null): string | null {
  if (variable !== null) return `{{ctx.${name}}}`;
  return name === "input" ? "{{workflow.input}}" : null;
}

/** Inside an iteration its own names come first. */
function scopeOf(state: ReturnType<typeof useShared>["shown"], iteration: string, step: string | null): ReadonlyMap<string, Variable> {
  if (iteration === "" || step === null) return state.variables;
  const inner = [...state.iterations.values()].find((each) => each.path === iteration && state.activations.get(keyOf(step, iteration)) !== undefined);
  return inner === undefined ? state.variables : new Map([...state.variables, ...inner.variables]);
}

function matches(search: string, name: string, value: Json): boolean {
  if (search === "") return true;
  const wanted = search.toLowerCase();
  return name.toLowerCase().includes(wanted) || (JSON.stringify(value)?.slice(0, 200_000) ?? "").toLowerCase().includes(wanted);
}

function Changes() {
  const { shown, now } = useShared();
  const changes = useMemo(() => contextDiff(shown, now), [shown, now]);
  if (changes.length === 0) return <EmptyState title="Nothing has changed since">The values are the same as now.</EmptyState>;
  return (
    <ul className={styles["values"]}>
      {changes.map((change) => (
        <li key={change.name} className={styles["value"]}>
          <header>
            <code className={styles["name"]}>{visible(change.name)}</code>
            <span className={styles["muted"]}>
              {change.kind}
              {change.after !== undefined && ` by ${keyOf(change.after.step, change.after.iteration)} at entry ${change.after.seq}`}
            </span>
          </header>
          <div className={styles["sides"]}>
            <div>
              <StatusBadge status="Then" look="plain" />
              {change.before === undefined ? <p className={styles["muted"]}>not there</p> : <JsonView value={change.before.value} label={`${change.name} then`} />}
            </div>
            <div>
              <StatusBadge status="Now" look="plain" />
              {change.after === undefined ? <p className={styles["muted"]}>not there</p> : <JsonView value={change.after.value} label={`${change.name} now`} />}
            </div>
          </div>
        </li>
      ))}
    </ul>
  );
}
