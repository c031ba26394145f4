import { Link } from "wouter";

import { count } from "../../core/format";
import { StatusMark } from "../../kit/StatusBadge";
import { statusLook } from "../../kit/status";
import { instancesHref } from "./links";
import styles from "./styles.module.css";

/** Instances by status, each number a link to them. */
export function Counts({ workflow, byStatus }: { workflow: string; byStatus: Record<string, number> | undefined }) {
  const shown = Object.entries(byStatus ?? {}).filter(([, number]) => number > 0);
  if (shown.length === 0) return <span className={styles["muted"]}>–</span>;
  return (
    <span className={styles["counts"]}>
      {shown.map(([status, number]) => {
        const words = `${count(number)} ${statusLook(status).word.toLowerCase()}`;
        return (
          <Link key={status} href={instancesHref(workflow, status)} className={styles["count"]} title={words} aria-label={words}>
            <StatusMark status={status} />
            {count(number)}
          </Link>
        );
      })}
    </span>
  );
}
