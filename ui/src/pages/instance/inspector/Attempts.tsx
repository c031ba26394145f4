import { Link } from "wouter";

import type { Activation, Attempt } from "../../../core/fold";
import { duration } from "../../../core/format";
import { path } from "../../../core/url";
import { classes } from "../../../kit/classes";
import { visible } from "../../../kit/JsonView";
import { Moment } from "../../../kit/Moment";
import { StatusBadge } from "../../../kit/StatusBadge";
import { useShared } from "../context";
import { shortId } from "../../../core/ids";
import styles from "../styles.module.css";

const STATUS: Record<string, string> = {
  running: "RUNNING",
  completed: "COMPLETED",
  failed: "FAILED",
  lost: "LOST",
  stopped: "STOPPED",
  cancelled: "CANCELLED",
  held: "WAITING",
};
/** Of many attempts, the newest are drawn. */
const MOST = 200;

/** Each attempt: when it was ordered, how long it was queued and ran, what ran it, and how it ended. */
export function Attempts({ node }: { node: Activation }) {
  const { selection, select } = useShared();
  const shown = node.attempts.slice(-MOST);
  return (
    <div className={styles["scrollX"]} tabIndex={0} role="group" aria-label="Attempts">
      <table className={styles["table"]}>
        <thead>
          <tr>
            <th scope="col">Attempt</th>
            <th scope="col">Ordered</th>
            <th scope="col">Queued</th>
            <th scope="col">Ran</th>
            <th scope="col">Outcome</th>
            <th scope="col">Worker</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((attempt) => (
            <tr key={attempt.seq} className={classes(attempt.number === selection.attempt && styles["chosenRow"])}>
              <td>
                <button type="button" className={styles["stepLink"]} onClick={() => select({ attempt: attempt.number, part: attempt.error === null ? "input" : "error" })}>
                  {attempt.number}
                </button>
              </td>
              <td>
                <Moment at={attempt.orderedAt} />
              </td>
              <td>{attempt.queueTime === null ? "–" : duration(attempt.queueTime)}</td>
              <td>{ranFor(attempt)}</td>
              <td>
                <StatusBadge status={STATUS[attempt.outcome] ?? attempt.outcome} look="plain" /> {attempt.error !== null && <code>{visible(attempt.error.code)}</code>}
                {attempt.childId !== null && <Link href={path("instances", attempt.childId)}>child {shortId(attempt.childId)}</Link>}
                {attempt.nextAt !== null && (
                  <span className={styles["muted"]}>
                    {" "}
                    next <Moment at={attempt.nextAt} />
                  </span>
                )}
              </td>
              <td>{attempt.worker === null ? placeOf(attempt) : <code>{visible(attempt.worker)}</code>}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {node.attempts.length > shown.length && <p className={styles["muted"]}>{node.attempts.length - shown.length} earlier attempts are in the log.</p>}
    </div>
  );
}

/** The service itself says how long an attempt ran, and of one that was lost nothing is recorded. */
function placeOf({ executionTime }: Attempt): string {
  return executionTime === null ? "–" : "in process";
}

function ranFor(attempt: Attempt): string {
  if (attempt.executionTime !== null) return duration(attempt.executionTime);
  if (attempt.endedAt === null) return "–";
  return `≤ ${duration(Date.parse(attempt.endedAt) - Date.parse(attempt.orderedAt))}`;
}
