import { useMemo, useState } from "react";

import { counted } from "../../core/format";
import { folded, lineDiff, type DiffLine, type DiffPart } from "../../core/lineDiff";
import { classes } from "../../kit/classes";
import { visible } from "../../kit/JsonView";
import { EmptyState } from "../../kit/States";
import styles from "./LineDiff.module.css";

/** The lines that differ, with those around them; more are shown on demand. */
export function LineDiff({ before, after }: { before: string; after: string }) {
  const parts = useMemo(() => (before === after ? [] : folded(lineDiff(before, after))), [before, after]);
  if (parts.length === 0) return <EmptyState title="The documents are the same" />;
  return (
    // Focusable, so that the keyboard scrolls it.
    <div className={styles["diff"]} tabIndex={0} role="region" aria-label="Differences of the JSON">
      {parts.map((part, place) => (
        <Part key={place} part={part} />
      ))}
    </div>
  );
}

function Part({ part }: { part: DiffPart }) {
  const [isOpen, setIsOpen] = useState(false);
  if ("hidden" in part && !isOpen) {
    return (
      <button type="button" className={styles["more"]} onClick={() => setIsOpen(true)}>
        {counted(part.hidden.length, "unchanged line")}
      </button>
    );
  }
  return ("hidden" in part ? part.hidden : part.lines).map((line, place) => <Line key={place} line={line} />);
}

const MARKS = { same: " ", added: "+", removed: "−" };

function Line({ line }: { line: DiffLine }) {
  return (
    <div className={classes(styles["line"], styles[line.kind])}>
      <span className={styles["number"]}>{line.before}</span>
      <span className={styles["number"]}>{line.after}</span>
      <span className={styles["mark"]}>{MARKS[line.kind]}</span>
      <code>{visible(line.text)}</code>
    </div>
  );
}
