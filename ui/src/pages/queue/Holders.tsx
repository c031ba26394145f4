import { Link } from "wouter";

import { count } from "../../core/format";
import { path } from "../../core/url";
import { classes } from "../../kit/classes";
import { visible } from "../../kit/JsonView";
import { Duration } from "../../kit/Moment";
import type { LimitUse } from "./limits";
import styles from "./styles.module.css";

/** As other pages cut an id: the first eight characters are the same for a minute. */
export const shortId = (id: string): string => id.slice(0, 13);

/** Some of what holds the slots of a limit, the oldest first, and how many more do. */
export function Holders({ use, most, isLine = false }: { use: LimitUse | undefined; most: number; /** In a cell of a table. */ isLine?: boolean }) {
  const shown = use?.holders.slice(0, most) ?? [];
  if (use === undefined || shown.length === 0) return <span aria-label="none">–</span>;
  const more = use.held - shown.length;
  return (
    <span className={classes(styles["holders"], isLine && styles["inLine"])}>
      {shown.map(({ instanceId, stepId, iteration, since }) => (
        <span key={`${instanceId} ${stepId} ${iteration}`} className={styles["holder"]}>
          <Link href={path("instances", instanceId)} title={instanceId} className={styles["id"]}>
            {shortId(instanceId)}
          </Link>
          {stepId != null && <span> {visible(stepId)}</span>}
          {!isLine && (
            <span className={styles["muted"]}>
              {" "}
              <Duration from={since ?? null} to={null} />
            </span>
          )}
        </span>
      ))}
      {more > 0 && <span className={styles["muted"]}>{isLine ? ` +${count(more)}` : `and ${count(more)} more`}</span>}
    </span>
  );
}
