import type { Activation, Attempt } from "../../../core/fold";
import { inputOf } from "../../../core/stepInput";
import { JsonView } from "../../../kit/JsonView";
import { useShared } from "../context";
import styles from "../styles.module.css";

/** The template beside what it gave. */
export function InputPart({ node, attempt }: { node: Activation; attempt: Attempt | undefined }) {
  const { plan, shown } = useShared();
  const { template, value: resolved } = inputOf(plan, shown, node, attempt);
  const hasTemplate = template !== undefined;
  return (
    <div className={styles["form"]}>
      {resolved !== undefined ? (
        <>
          <h3>{attempt === undefined || node.attempts.length < 2 ? "Resolved" : `Resolved, attempt ${attempt.number}`}</h3>
          <JsonView value={resolved} label="Resolved input" />
          {!hasTemplate && <p className={styles["muted"]}>The step has no input of its own: it gets the workflow's.</p>}
        </>
      ) : (
        <p className={styles["muted"]}>The log does not have the resolved value: it follows from the input of the workflow alone.</p>
      )}
      {hasTemplate && (
        <>
          <h3>Template</h3>
          <JsonView value={template} label="Template of the input" />
        </>
      )}
      {resolved === undefined && (
        <>
          <h3>Input of the workflow</h3>
          <JsonView value={shown.input} label="Input of the workflow" />
        </>
      )}
    </div>
  );
}
