import { classes } from "../../kit/classes";
import { visible } from "../../kit/JsonView";
import { Moment } from "../../kit/Moment";
import { hasHolders, Holders, Places } from "./Holders";
import { fullness, fullWords, isFull, limitName, waitedForFirst, type LimitUse } from "./limits";
import styles from "./styles.module.css";

/** How full each limit is: held of max as a bar, how many wait, what holds its slots, and which steps come next. */
export function LimitBars({ limits, isComplete }: { limits: readonly LimitUse[]; isComplete: boolean }) {
  return (
    <section className={styles["limits"]} aria-label="Limits">
      <ul>
        {waitedForFirst(limits).map((use) => (
          <Bar key={use.limit} use={use} />
        ))}
      </ul>
      {!isComplete && <p className={styles["muted"]}>There may be more limits, and more that wait, than are listed here.</p>}
    </section>
  );
}

function Bar({ use }: { use: LimitUse }) {
  const name = visible(limitName(use.limit));
  const steps = use.waiters?.filter(({ stepId }) => stepId != null) ?? [];
  return (
    <li className={styles["limit"]}>
      <div className={styles["line"]}>
        <b title={use.limit}>{name}</b>
        <span className={classes(isFull(use) && styles["full"])}>{fullWords(use)}</span>
      </div>
      {use.max !== null && (
        <div className={styles["bar"]} role="meter" aria-label={name} aria-valuemin={0} aria-valuemax={Math.max(use.max, use.held, 1)} aria-valuenow={use.held} aria-valuetext={fullWords(use)}>
          <div className={classes(styles["filled"], isFull(use) && styles["isFull"])} style={{ width: `${fullness(use)}%` }} />
        </div>
      )}
      {hasHolders(use) && <Holders use={use} most={2} />}
      {steps.length > 0 && (
        <div className={styles["next"]}>
          <span className={styles["muted"]}>Next:</span> <Places of={steps.slice(0, 2)} all={use.waiting} />
        </div>
      )}
      {use.until != null && (
        <p className={styles["next"]}>
          <span className={styles["muted"]}>Next begins</span> <Moment at={use.until} />
        </p>
      )}
    </li>
  );
}
