import { statusLook, type Tone } from "./status";
import styles from "./ProgressBar.module.css";

export interface Part {
  status: string;
  count: number;
}

/** Progress by status: widths by number, and the same in words. `label` names what is counted. */
export function ProgressBar({ label, parts, total }: { label: string; parts: readonly Part[]; total: number }) {
  const present = parts.filter((part) => part.count > 0);
  const done = present.filter((part) => ["COMPLETED", "SKIPPED"].includes(part.status)).reduce((sum, part) => sum + part.count, 0);
  const words = [`${done} of ${total} done`, ...present.filter((part) => part.status !== "COMPLETED").map((part) => `${part.count} ${statusLook(part.status).word.toLowerCase()}`)].join(", ");
  return (
    <div className={styles["bar"]} role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={total} aria-valuenow={done} aria-valuetext={words} title={words}>
      {present.map((part) => (
        <div key={part.status} style={{ width: `${(100 * part.count) / Math.max(total, 1)}%`, background: colour(statusLook(part.status).tone) }} />
      ))}
    </div>
  );
}

const colour = (tone: Tone): string => `var(--${tone})`;
