import type { ReactNode } from "react";

import { classes } from "./classes";
import styles from "./Notice.module.css";
import type { Tone } from "./status";

/** Something that should be known before reading on, with what can be done beside it. */
export function Notice({ tone = "neutral", children, action }: { tone?: Extract<Tone, "neutral" | "amber" | "red" | "green" | "blue">; children: ReactNode; action?: ReactNode }) {
  return (
    <div className={classes(styles["notice"], styles[tone])}>
      <div className={styles["text"]}>{children}</div>
      {action}
    </div>
  );
}
