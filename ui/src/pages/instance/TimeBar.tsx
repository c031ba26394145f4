import { SkipBack, SkipForward } from "lucide-react";

import { count } from "../../core/format";
import { keyOf } from "../../core/log";
import { Button, IconButton } from "../../kit/Button";
import { classes } from "../../kit/classes";
import { visible } from "../../kit/JsonView";
import { Moment } from "../../kit/Moment";
import { useShared } from "./context";
import { MOST_HELD } from "./logReader";
import styles from "./styles.module.css";

/** The slider through the log: the graph and the context show the state after any entry. */
export function TimeBar() {
  const { selection, select, now, shown, isFolded, log, reader } = useShared();
  const last = now.version;
  if (!isFolded) {
    return (
      <div className={styles["timeBar"]}>
        {log.isReadingAll || log.isReading ? (
          <span className={styles["muted"]} role="status">
            Reading the log: {count(log.window.entries.length)} of {count(Math.max(log.length, last))} entries
          </span>
        ) : log.length > MOST_HELD ? (
          <span className={styles["muted"]}>The log is too long to be replayed here; the present state is the service's own.</span>
        ) : (
          <>
            <span className={styles["muted"]}>The log is long: the present state is the service's own, without attempts and iterations.</span>
            <Button onClick={() => reader.all()}>Read all {count(log.length)} entries</Button>
          </>
        )}
      </div>
    );
  }
  const at = Math.min(selection.at ?? last, last);
  const isPast = selection.at !== null && at < last;
  const entry = log.window.entries[at - 1];
  const go = (next: number) => select({ at: next >= last ? null : Math.max(next, 1) }, "replace");
  return (
    <div className={classes(styles["timeBar"], isPast && styles["past"])} role="group" aria-label="Replay">
      <IconButton label="One entry earlier" icon={<SkipBack />} disabled={at <= 1} onClick={() => go(at - 1)} />
      <input
        type="range"
        className={styles["slider"]}
        min={1}
        max={Math.max(last, 1)}
        value={at}
        aria-label="State after entry"
        aria-valuetext={`entry ${at} of ${last}${entry === undefined ? "" : `, ${entry.eventType}`}`}
        onChange={(event) => go(Number(event.target.value))}
      />
      <IconButton label="One entry later" icon={<SkipForward />} disabled={!isPast} onClick={() => go(at + 1)} />
      <span className={styles["timeText"]}>
        {isPast ? (
          <>
            <b>
              After entry {count(at)} of {count(last)}
            </b>{" "}
            {entry !== undefined && (
              <>
                {visible(entry.eventType)} {entry.nodeId !== null && visible(keyOf(entry.nodeId, entry.iteration))} <Moment at={entry.at} />
              </>
            )}{" "}
            · it was {shown.status}
          </>
        ) : (
          <span className={styles["muted"]}>Now, after {count(last)} entries</span>
        )}
      </span>
      {isPast && (
        <Button look="primary" onClick={() => select({ at: null })}>
          Back to now
        </Button>
      )}
    </div>
  );
}
