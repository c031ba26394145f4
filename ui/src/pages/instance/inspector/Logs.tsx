import { useMemo, useState } from "react";

import { useList } from "../../../api/queries";
import type { Activation } from "../../../core/fold";
import { Button } from "../../../kit/Button";
import { classes } from "../../../kit/classes";
import { CopyButton } from "../../../kit/CopyButton";
import { visible } from "../../../kit/JsonView";
import { Moment } from "../../../kit/Moment";
import { EmptyState, ErrorState, Loading } from "../../../kit/States";
import { useShared } from "../context";
import styles from "../styles.module.css";

/** The lines that the attempts of a step logged and printed. */
export function Logs({ node }: { node: Activation }) {
  const { id, selection, select } = useShared();
  const [search, setSearch] = useState("");
  const list = useList("/api/v1/instances/{id}/steps/{stepId}/logs", {
    path: { id, stepId: node.step },
    query: { limit: 500, ...(node.iteration === "" ? {} : { iteration: node.iteration }), ...(selection.attempt === null ? {} : { attempt: selection.attempt }) },
  });
  const lines = useMemo(() => list.items.filter((line) => search === "" || line.text.toLowerCase().includes(search.toLowerCase())), [list.items, search]);
  return (
    <div className={styles["form"]}>
      <div className={styles["filters"]}>
        <input className={styles["search"]} type="search" aria-label="Search the lines" placeholder="Search" value={search} onChange={(event) => setSearch(event.target.value)} />
        <select className={styles["select"]} aria-label="Attempt" value={selection.attempt ?? ""} onChange={(event) => select({ attempt: event.target.value === "" ? null : Number(event.target.value) }, "replace")}>
          <option value="">all attempts</option>
          {node.attempts.slice(-50).map((attempt) => (
            <option key={attempt.seq} value={attempt.number}>
              attempt {attempt.number}
            </option>
          ))}
        </select>
        {list.items.length > 0 && <CopyButton text={list.items.map((line) => line.text).join("\n")} label="Copy the lines" />}
      </div>
      {list.isPending ? (
        <Loading label="Loading the lines" />
      ) : list.error !== null && list.items.length === 0 ? (
        <ErrorState isInline error={list.error} onRetry={list.refresh} />
      ) : lines.length === 0 ? (
        <EmptyState title={search === "" ? "Nothing was logged" : "No line matches"}>{search === "" ? "What a task prints, or logs with Python's logging, appears here." : null}</EmptyState>
      ) : (
        <ol className={styles["lines"]} tabIndex={0} aria-label="Lines">
          {lines.map((line) => (
            <li key={`${line.attempt} ${line.number}`} className={classes(line.level !== undefined && /ERROR|CRITICAL/.test(line.level) && styles["errorLine"], line.stream === "stderr" && styles["errorLine"])}>
              <span className={styles["lineHead"]}>
                <Moment at={line.at} /> {line.level ?? line.stream ?? ""}
              </span>
              <span className={styles["lineText"]}>{line.dropped !== undefined ? `${line.dropped} lines were left out here` : visible(line.text)}</span>
            </li>
          ))}
        </ol>
      )}
      {list.hasMore && (
        <Button isPending={list.isReadingMore} onClick={list.readMore}>
          More lines
        </Button>
      )}
    </div>
  );
}
