import type { ReactNode } from "react";

import styles from "./Filters.module.css";

/** The controls above a list that narrow it, each with its label before it. */
export function Filters({ label, children, end }: { label: string; children: ReactNode; end?: ReactNode }) {
  return (
    <div className={styles["filters"]} role="search" aria-label={label}>
      {children}
      {end !== undefined && <div className={styles["end"]}>{end}</div>}
    </div>
  );
}

/** One control of the bar: what it narrows by, and the control. */
export function Filter({ label, children }: { label: string; children: ReactNode }) {
  return (
    <label className={styles["filter"]}>
      <span>{label}</span>
      {children}
    </label>
  );
}
