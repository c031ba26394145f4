import type { Attempt } from "../../../core/fold";
import { meaningOf } from "../../../api/failures";
import { asObject, asText, type Json } from "../../../core/json";
import type { PlacedError } from "../../../core/log";
import { CopyButton } from "../../../kit/CopyButton";
import { JsonView, visible } from "../../../kit/JsonView";
import { Moment } from "../../../kit/Moment";
import { Prose } from "../../../kit/Prose";
import styles from "../styles.module.css";

/** An error: its code, what it says, what it means, and whether it would be tried again. */
export function ErrorPart({ error, attempt }: { error: PlacedError; attempt: Attempt | undefined }) {
  const meaning = meaningOf(error.code);
  const details = asObject(error.details);
  const traceback = asText(details["traceback"]);
  const { traceback: _, ...rest } = details;
  return (
    <div className={styles["form"]}>
      <p>
        <code className={styles["code"]}>{visible(error.code)}</code>
        <CopyButton text={`${error.code}: ${error.message}`} label="Copy the error" />
      </p>
      <p className={styles["message"]}>{visible(error.message)}</p>
      <p className={styles["muted"]}>
        attempt {error.attempt}, <Moment at={error.at} />
        {attempt?.retryable != null && (attempt.retryable ? ", may be retried" : ", not to be retried")}
      </p>
      <div className={styles["meaning"]}>
        <h3>What it means</h3>
        {meaning === null ? (
          <p>
            A code of the task's own: the task raised it, or it is the name of an exception. <code>onError</code> and <code>nonRetryable</code> can name it.
          </p>
        ) : (
          <>
            <p>
              <Prose text={meaning.explanation} />
            </p>
            <p className={styles["muted"]}>
              <Prose text={meaning.advice} />
            </p>
          </>
        )}
      </div>
      {traceback !== null && (
        <>
          <h3>Traceback</h3>
          <pre className={styles["traceback"]} tabIndex={0}>
            {visible(traceback)}
          </pre>
        </>
      )}
      {Object.keys(rest).length > 0 ? (
        <>
          <h3>Details</h3>
          <JsonView value={rest} label="Details of the error" />
        </>
      ) : (
        isPlain(error.details) && (
          <>
            <h3>Details</h3>
            <JsonView value={error.details} label="Details of the error" />
          </>
        )
      )}
    </div>
  );
}

const isPlain = (details: Json | undefined): boolean => details !== undefined && details !== null && (typeof details !== "object" || Array.isArray(details));
