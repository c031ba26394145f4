import { classes } from "./classes";
import { MARKS, statusLook } from "./status";
import styles from "./StatusBadge.module.css";

/** The icon of a status alone, for dense places that have the word elsewhere. */
export function StatusMark({ status }: { status: string }) {
  const { mark, tone } = statusLook(status);
  return (
    <svg viewBox="0 0 16 16" aria-hidden className={classes(styles["mark"], styles[tone], mark === "ring" && styles["turning"])}>
      <path d={MARKS[mark]} />
    </svg>
  );
}

export function StatusBadge({ status, look = "badge" }: { status: string; look?: "badge" | "plain" }) {
  const { word, tone } = statusLook(status);
  return (
    <span className={classes(styles["badge"], styles[tone], look === "plain" && styles["plain"])} title={status}>
      <StatusMark status={status} />
      <span className={styles["word"]}>{word}</span>
    </span>
  );
}
