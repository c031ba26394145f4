import { useMemo, useRef } from "react";

import { count, counted, duration } from "../../../core/format";
import { keyOf, type LogEntry } from "../../../core/log";
import { Button } from "../../../kit/Button";
import { classes } from "../../../kit/classes";
import { visible } from "../../../kit/JsonView";
import { Moment } from "../../../kit/Moment";
import { EmptyState, ErrorState, Loading } from "../../../kit/States";
import { VirtualList } from "../../../kit/VirtualList";
import { useShared } from "../context";
import { FollowButton } from "../FollowButton";
import { MOST_HELD } from "../logReader";
import { GROUPS, said, shows, sinceBefore } from "../model/entries";
import { firstOf, isWhole } from "../model/window";
import styles from "../styles.module.css";
import { useFollowing } from "../useFollowing";

const ROW = 30;

/** The log, newest first; older pages are read as they are scrolled to. */
export default function LogTab() {
  const { log, reader, selection, select } = useShared();
  const { kind: types, find: text, own: isOwn } = selection;
  const step = isOwn ? selection.step : null;
  const { entries } = log.window;
  const rows = useMemo(() => {
    const found = types === "" && text === "" && step === null ? [...entries] : entries.filter((entry) => shows({ step, types, text }, entry));
    return found.reverse();
  }, [entries, step, types, text]);
  const follow = useFollowing();
  const newest = rows[0]?.seq ?? 0;
  const followed = useRef(newest);
  if (follow.isOn) followed.current = newest;
  const isFiltered = rows.length !== entries.length;
  const before = (entry: LogEntry) => entries[entry.seq - firstOf(log.window) - 1];
  if (entries.length === 0) return log.error !== null ? <ErrorState error={log.error} onRetry={() => reader.newer()} /> : <Loading label="Loading the log" />;
  return (
    <div className={styles["logTab"]}>
      <div className={styles["filters"]}>
        <input className={styles["search"]} type="search" aria-label="Search the log" placeholder="Search" value={text} onChange={(event) => select({ find: event.target.value }, "replace")} />
        <select className={styles["select"]} aria-label="Kind of entries" value={types} onChange={(event) => select({ kind: event.target.value }, "replace")}>
          {Object.entries(GROUPS).map(([id, group]) => (
            <option key={id} value={id}>
              {group.label}
            </option>
          ))}
        </select>
        {selection.step !== null && (
          <label className={styles["check"]}>
            <input type="checkbox" checked={isOwn} onChange={(event) => select({ own: event.target.checked }, "replace")} />
            Only {visible(selection.step)}
          </label>
        )}
        <span className={styles["muted"]} role="status">
          {isFiltered ? `${count(rows.length)} of ${count(entries.length)} that were read` : isWhole(log.window) ? counted(entries.length, "entry", "entries") : `${count(entries.length)} of ${count(log.length)} entries`}
        </span>
        <FollowButton follow={follow} missed={rows.findIndex((entry) => entry.seq <= followed.current)} />
      </div>
      {rows.length === 0 ? (
        <EmptyState
          title="No entry matches"
          action={
            <Button onClick={() => select({ find: "", kind: "", own: false }, "replace")}>Show all entries</Button>
          }
        >
          {isWhole(log.window) ? "The filter excludes every entry." : "Only what was read so far is searched."}
          {!isWhole(log.window) && (
            <Button isPending={log.isReading} onClick={() => reader.all()}>
              Read the whole log
            </Button>
          )}
        </EmptyState>
      ) : (
        <VirtualList
          label="Log entries, newest first"
          items={rows}
          rowHeight={ROW}
          idOf={(entry) => String(entry.seq)}
          onEnd={() => reader.older()}
          foot={<Foot />}
          following={follow.list(0)}
          render={(entry) => (
            <div role="listitem">
              <button
                type="button"
                className={classes(styles["entry"], entry.seq === selection.entry && styles["chosenEntry"], /FAILED/.test(entry.eventType) && styles["badEntry"])}
                aria-pressed={entry.seq === selection.entry}
                onClick={() => select({ entry: entry.seq, part: "entry", step: entry.nodeId, iteration: entry.iteration, attempt: entry.attempt })}
              >
                <span className={styles["seq"]}>{entry.seq}</span>
                <span className={styles["when"]}>
                  <Moment at={entry.at} />
                </span>
                <span className={styles["delta"]}>{deltaOf(entry, before(entry))}</span>
                <span className={styles["type"]}>{visible(entry.eventType)}</span>
                <span className={styles["place"]}>
                  {entry.nodeId !== null && visible(keyOf(entry.nodeId, entry.iteration))}
                  {entry.attempt !== null && entry.attempt > 1 && ` #${entry.attempt}`}
                </span>
                <span className={styles["said"]}>{visible(said(entry))}</span>
              </button>
            </div>
          )}
        />
      )}
    </div>
  );
}

function deltaOf(entry: LogEntry, before: LogEntry | undefined): string {
  const ms = sinceBefore(entry, before);
  return ms === null ? "" : `+${duration(ms)}`;
}

function Foot() {
  const { log, reader } = useShared();
  const first = firstOf(log.window);
  return (
    <div className={styles["foot"]}>
      {log.error !== null && <ErrorState isInline error={log.error} onRetry={() => reader.older()} />}
      {first <= 1 ? (
        "The log begins here."
      ) : log.window.entries.length >= MOST_HELD ? (
        `${count(first - 1)} older entries are not held here: tenuto show and the API read them.`
      ) : log.isReading ? (
        "Reading on…"
      ) : (
        <Button onClick={() => reader.older()}>{count(first - 1)} older entries</Button>
      )}
    </div>
  );
}
