import { useId } from "react";

import type { Shape } from "../../api/types";
import { count } from "../../core/format";
import { Field, TextInput } from "../../kit/Field";
import { visible } from "../../kit/JsonView";
import { Notice } from "../../kit/Notice";
import { Stack } from "../../kit/Stack";
import { LOAD_DEFAULTS, type Draft } from "./limits";
import styles from "./styles.module.css";

const PLACE = "$.resourceBasedLimits";
const BOUNDS = [
  ["least", "At least", "min"],
  ["most", "At most", "max"],
] as const;
const TARGETS = [
  ["loopLag", "Loop lag, in ms", "loopLagMs"],
  ["commit", "Commit latency, in ms", "commitMs"],
  ["memory", "Memory, in %", "memoryPercent"],
] as const;

/** The adaptive limit: whether the limit of all instances follows the load, and within which bounds. */
export function LoadLimit({ draft, effective, isLocked, at, onChange }: { draft: Draft; effective: Shape<"EffectiveLimit"> | null; isLocked: boolean; at: (place: string, field?: keyof Draft) => string; onChange: (part: Partial<Draft>) => void }) {
  const id = useId();
  const number = ([field, label, name]: readonly [keyof typeof LOAD_DEFAULTS, string, string], where: string) => (
    <Field key={field} label={label} problem={at(`${where}.${name}`, field)}>
      {(ids) => <TextInput {...ids} inputMode="decimal" disabled={isLocked} placeholder={LOAD_DEFAULTS[field]} value={draft[field]} onChange={({ target }) => onChange({ [field]: target.value })} />}
    </Field>
  );
  return (
    <details className={styles["more"]} open={draft.follows}>
      <summary>Follow the load</summary>
      <Stack>
        <label className={styles["check"]}>
          <input type="checkbox" disabled={isLocked} aria-describedby={`${id}-help`} checked={draft.follows} onChange={({ target }) => onChange({ follows: target.checked })} />
          The limit of all instances follows the load
        </label>
        <p id={`${id}-help`} className={styles["muted"]}>
          It is lowered while a process is above one of its targets, and raised again while all are below. It is never above the limit of all instances.
        </p>
        {draft.follows && (
          <>
            <div className={styles["numbers"]}>{BOUNDS.map((each) => number(each, PLACE))}</div>
            <fieldset className={styles["rows"]}>
              <legend>Targets</legend>
              <div className={styles["numbers"]}>{TARGETS.map((each) => number(each, `${PLACE}.targets`))}</div>
            </fieldset>
          </>
        )}
        {effective !== null && (
          <Notice>
            In force now: <b>{count(effective.limit)}</b> ({visible(effective.reason)})
          </Notice>
        )}
      </Stack>
    </details>
  );
}
