import { classes } from "../../kit/classes";
import { visible } from "../../kit/JsonView";
import { Holders } from "./Holders";
import { fullness, fullWords, limitName, type LimitUse } from "./limits";
import styles from "./styles.module.css";

/** How full each limit is: held of max as a bar, how many wait, and what holds its slots. */
export function LimitBars({ limits, isComplete }: { limits: readonly LimitUse[]; isComplete: boolean }) {
  return (
    <section className={styles["limits"]} aria-label="Limits">
      <ul>
        {limits.map((use) => (
          <Bar key={use.limit} use={use} />
        ))}
      </ul>
      {!isComplete && <p className={styles["muted"]}>There may be more limits, and more that wait, than are listed here.</p>}
    </section>
  );
}

function Bar({ use }: { use: LimitUse }) {
  const name = visible(limitName(use.limit));
  const isFull = use.held >= use.max;
  return (
    <li className={styles["limit"]}>
      <div className={styles["line"]}>
        <b title={use.limit}>{name}</b>
        <span className={classes(isFull && styles["full"])}>{fullWords(use)}</span>
      </div>
      <div className={styles["bar"]} role="meter" aria-label={name} aria-valuemin={0} aria-valuemax={Math.max(use.max, use.held, 1)} aria-valuenow={use.held} aria-valuetext={fullWords(use)}>
        <div className={classes(styles["filled"], isFull && styles["isFull"])} style={{ width: `${fullness(use)}%` }} />
      </div>
      {use.holders.length > 0 && <Holders use={use} most={2} />}
    </li>
  );
}
