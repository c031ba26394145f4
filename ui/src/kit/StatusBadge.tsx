import { classes } from "./classes";
import { statusLook, type Mark } from "./status";
import styles from "./StatusBadge.module.css";

const PATHS: Record<Mark, string> = {
  clock: "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M8 5v3.2l2 1.3",
  ring: "M8 2.5a5.5 5.5 0 1 1-5.5 5.5",
  antenna: "M4.2 11.8a5.4 5.4 0 0 1 0-7.6M11.8 4.2a5.4 5.4 0 0 1 0 7.6M6.3 9.7a2.4 2.4 0 0 1 0-3.4M9.7 6.3a2.4 2.4 0 0 1 0 3.4M8 8v.01",
  loop: "M13 8a5 5 0 1 1-1.5-3.5M13 2.5v2.7h-2.7",
  bars: "M6 4v8M10 4v8",
  check: "M3.5 8.5l3 3l6-7",
  cross: "M4.5 4.5l7 7M11.5 4.5l-7 7",
  slash: "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M4.2 11.8l7.6-7.6",
  hollow: "M8 4a4 4 0 1 0 0 8a4 4 0 1 0 0-8",
  back: "M6.5 4L3 7.5L6.5 11M3 7.5h6.5a3.5 3.5 0 0 1 0 7",
  unknown: "M5.8 6a2.3 2.3 0 1 1 3.4 2c-.8.5-1.2.9-1.2 1.8M8 12.3v.01",
};

/** The icon of a status alone, for dense places that have the word elsewhere. */
export function StatusMark({ status }: { status: string }) {
  const { mark, tone } = statusLook(status);
  return (
    <svg viewBox="0 0 16 16" aria-hidden className={classes(styles["mark"], styles[tone], mark === "ring" && styles["turning"])}>
      <path d={PATHS[mark]} />
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
