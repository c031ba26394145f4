import { useState, type ReactNode } from "react";

import { count, size } from "../core/format";
import { classes } from "./classes";
import { CopyButton } from "./CopyButton";
import styles from "./JsonView.module.css";

/** Drawn at once of one object, array or text: a value of any size stays usable. */
const MOST_KEYS = 100;
const MOST_TEXT = 600;
const OPEN_LEVELS = 2;
const FEW_KEYS = 30;

/** A JSON value as a tree, drawn as far as it is opened. */
export function JsonView({ value, label }: { value: unknown; label: string }) {
  return (
    <div className={styles["view"]} role="group" aria-label={label}>
      <div className={styles["copy"]}>
        <CopyButton label="Copy JSON" text={JSON.stringify(value, null, 2) ?? "null"} />
      </div>
      <Value value={value} depth={0} />
    </div>
  );
}

function Value({ value, depth, name }: { value: unknown; depth: number; name?: ReactNode }) {
  if (typeof value === "object" && value !== null) return <Nested value={value} depth={depth} name={name} />;
  return (
    <div className={styles["line"]}>
      {name}
      {typeof value === "string" ? <Text text={value} /> : <span className={styles["atom"]}>{String(value)}</span>}
    </div>
  );
}

function Nested({ value, depth, name }: { value: object; depth: number; name?: ReactNode }) {
  const keys = Array.isArray(value) ? null : Object.keys(value);
  const length = keys?.length ?? (value as unknown[]).length;
  const [isOpen, setIsOpen] = useState(depth < OPEN_LEVELS && (depth === 0 || length <= FEW_KEYS));
  const [most, setMost] = useState(MOST_KEYS);
  const words = keys === null ? `[${count(length)}]` : `{${count(length)}}`;
  if (length === 0) {
    return (
      <div className={styles["line"]}>
        {name}
        <span className={styles["atom"]}>{keys === null ? "[]" : "{}"}</span>
      </div>
    );
  }
  const shown = keys?.slice(0, most) ?? Array.from({ length: Math.min(most, length) }, (_, place) => place);
  return (
    <div>
      <button type="button" className={classes(styles["line"], styles["fold"])} aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
        <i aria-hidden>{isOpen ? "▾" : "▸"}</i>
        {name}
        <span className={styles["muted"]}>{words}</span>
      </button>
      {isOpen && (
        <div className={styles["inner"]}>
          {shown.map((key) => (
            <Value
              key={key}
              depth={depth + 1}
              value={(value as Record<string | number, unknown>)[key]}
              name={
                <>
                  <span className={styles["key"]}>{visible(String(key))}</span>
                  <span className={styles["muted"]}>: </span>
                </>
              }
            />
          ))}
          {length > most && (
            <button type="button" className={styles["more"]} onClick={() => setMost(most * 4)}>
              {count(length - most)} more
            </button>
          )}
        </div>
      )}
    </div>
  );
}

function Text({ text }: { text: string }) {
  const [isWhole, setIsWhole] = useState(false);
  const isLong = text.length > MOST_TEXT && !isWhole;
  return (
    <span className={styles["text"]}>
      {visible(JSON.stringify(isLong ? text.slice(0, MOST_TEXT) : text))}
      {isLong && (
        <button type="button" className={styles["more"]} onClick={() => setIsWhole(true)}>
          all {size(text.length)}
        </button>
      )}
    </span>
  );
}

/** Characters that turn the direction of text are spelled out: they could make it look like another. */
export const visible = (text: string): string =>
  text.replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
