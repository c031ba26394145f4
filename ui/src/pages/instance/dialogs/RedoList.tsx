import { count } from "../../../core/format";
import { visible } from "../../../kit/JsonView";
import type { Redo } from "../model/redo";
import styles from "../styles.module.css";

const MOST = 12;

/** What is kept and what runs again, in plain words. */
export function RedoList({ redo }: { redo: Redo }) {
  return (
    <dl className={styles["redo"]}>
      <Line title="Keeps the outputs of" steps={redo.kept} none="nothing" />
      <Line title="Runs again" steps={redo.again} none="nothing" />
      {redo.after.length > 0 && <Line title="Follows after" steps={redo.after} none="nothing" />}
    </dl>
  );
}

function Line({ title, steps, none }: { title: string; steps: readonly string[]; none: string }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>
        {steps.length === 0 ? <span className={styles["muted"]}>{none}</span> : steps.slice(0, MOST).map((step) => <code key={step}>{visible(step)}</code>)}
        {steps.length > MOST && <span className={styles["muted"]}>and {count(steps.length - MOST)} more</span>}
      </dd>
    </div>
  );
}
