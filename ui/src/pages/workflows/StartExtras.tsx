import type { ProblemItem } from "../../api/problem";
import { Field, TextInput } from "../../kit/Field";
import fieldStyles from "../../kit/Field.module.css";
import styles from "./start.module.css";

/** As they are typed. */
export interface Extras {
  key: string;
  correlationId: string;
  priority: string;
  deadline: string;
}

const PATHS = ["$.correlationId", "$.priority", "$.deadline", "$.version"];
/** Whether a field here shows problems of this path. */
export const problemOf = (path: string): boolean => PATHS.includes(path);

/** What an instance may be given beside its input; folded, since few need it. */
export function StartExtras({
  extras,
  onChange,
  version,
  newest,
  onVersion,
  problems,
}: {
  extras: Extras;
  onChange: (extras: Extras) => void;
  version: number | null;
  newest: number;
  onVersion: (version: number | null) => void;
  problems: readonly ProblemItem[];
}) {
  const said = (name: string) => problems.find(({ path }) => path === `$.${name}`)?.message;
  const set = (name: keyof Extras) => (event: { target: { value: string } }) => onChange({ ...extras, [name]: event.target.value });
  const isUsed = version !== null || Object.values(extras).some((value) => value !== "") || problems.some(({ path }) => problemOf(path));
  return (
    <details className={styles["extras"]} open={isUsed || undefined}>
      <summary>More: key, correlation id, priority, deadline, version</summary>
      <div className={styles["grid"]}>
        <Field label="Idempotency key" help="At most one instance is started under a key.">
          {(ids) => <TextInput {...ids} value={extras.key} onChange={set("key")} />}
        </Field>
        <Field label="Correlation id" help="Events that carry it can be told apart by it." problem={said("correlationId")}>
          {(ids) => <TextInput {...ids} value={extras.correlationId} onChange={set("correlationId")} />}
        </Field>
        <Field label="Priority" help="0 by default; higher goes first." problem={said("priority")}>
          {(ids) => <TextInput {...ids} inputMode="numeric" value={extras.priority} onChange={set("priority")} />}
        </Field>
        <Field label="Deadline" help="In your time zone. After it the instance is ended." problem={said("deadline")}>
          {(ids) => <TextInput {...ids} type="datetime-local" step={1} value={extras.deadline} onChange={set("deadline")} />}
        </Field>
        <Field label="Version" problem={said("version")}>
          {(ids) => (
            <select {...ids} className={fieldStyles["input"]} value={version ?? ""} onChange={({ target }) => onVersion(target.value === "" ? null : Number(target.value))}>
              <option value="">The newest ({newest})</option>
              {Array.from({ length: newest }, (_, place) => newest - place).map((each) => (
                <option key={each} value={each}>
                  {each}
                </option>
              ))}
            </select>
          )}
        </Field>
      </div>
    </details>
  );
}
