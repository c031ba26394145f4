import type { Shape } from "../../api/types";
import { Moment } from "../../kit/Moment";
import styles from "./styles.module.css";

/** The entries of the log that led to a dead letter. */
export function Attempts({ entries }: { entries: readonly Shape<"HistoryItem">[] }) {
  if (entries.length === 0) return <p className={styles["muted"]}>The log has no entries of this step any more.</p>;
  return (
    <div className={styles["scroll"]} tabIndex={0} role="group" aria-label="Attempts">
      <table className={styles["attempts"]}>
        <thead>
          <tr>
            <th scope="col">Entry</th>
            <th scope="col">Time</th>
            <th scope="col">Attempt</th>
            <th scope="col">What</th>
            <th scope="col">Error</th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <tr key={entry.seq}>
              <td>{entry.seq}</td>
              <td>
                <Moment at={entry.at} />
              </td>
              <td>{entry.attempt ?? "–"}</td>
              <td>
                <code>{entry.eventType}</code>
              </td>
              <td className={styles["error"]}>{(entry.errorMessage ?? "–").slice(0, 300)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
