import type { CompensationItem } from "../../../core/fold";
import { JsonView, visible } from "../../../kit/JsonView";
import { StatusBadge } from "../../../kit/StatusBadge";
import styles from "../styles.module.css";
import { ErrorPart } from "./ErrorPart";

/** A compensation: what it undoes, how it went, what it was given. */
export function UndoInspector({ item }: { item: CompensationItem }) {
  const last = item.attempts.at(-1);
  return (
    <div className={styles["part"]}>
      <div className={styles["form"]}>
        <p>
          <StatusBadge status={item.status} /> undoes <b>{visible(item.compensationFor)}</b>, {item.attempts.length === 1 ? "1 attempt" : `${item.attempts.length} attempts`}
        </p>
        {item.error !== null && <ErrorPart error={item.error} attempt={last} />}
        {last?.input !== undefined && (
          <>
            <h3>Input</h3>
            <JsonView value={last.input} label="Input of the compensation" />
          </>
        )}
        {last?.output !== undefined && (
          <>
            <h3>Output</h3>
            <JsonView value={last.output} label="Output of the compensation" />
          </>
        )}
      </div>
    </div>
  );
}
