import { Link } from "wouter";

import { count } from "../../core/format";
import { path } from "../../core/url";
import { classes } from "../../kit/classes";
import { visible } from "../../kit/JsonView";
import { Duration } from "../../kit/Moment";
import type { LimitUse } from "./limits";
import styles from "./styles.module.css";

type Place = LimitUse["holders"][number];

/** As other pages cut an id: the first eight characters are the same for a minute. */
export const shortId = (id: string): string => id.slice(0, 13);

const isHeldByOthers = ({ limit, held, holders }: LimitUse): boolean => limit === "global" && held > 0 && holders.length === 0;

/** Whether anything can be said of what holds the slots of a limit. */
export const hasHolders = (use: LimitUse): boolean => use.holders.length > 0 || isHeldByOthers(use);

/** Some of what holds the slots of a limit, the oldest first, and how many more do; those of other tenants have no names here. */
export function Holders({ use, most, isLine = false }: { use: LimitUse | undefined; most: number; /** In a cell of a table. */ isLine?: boolean }) {
  if (use === undefined || !hasHolders(use)) return <span aria-label="none">–</span>;
  if (isHeldByOthers(use)) return <span className={styles["muted"]}>other tenants</span>;
  return <Places of={use.holders.slice(0, most)} all={use.held} isLine={isLine} />;
}

/** Instances and steps that hold a slot or wait for one, and how many more there are. */
export function Places({ of: shown, all, isLine = false }: { of: readonly Place[]; all: number; isLine?: boolean }) {
  const more = all - shown.length;
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
