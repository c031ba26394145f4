import { CopyButton } from "./CopyButton";
import styles from "./Snippet.module.css";

/** Text to paste elsewhere: a command, a piece of code, a key. */
export function Snippet({ text, label }: { text: string; label: string }) {
  return (
    <div className={styles["snippet"]}>
      {/* Focusable, so that the keyboard scrolls it. */}
      <pre tabIndex={0} role="group" aria-label={label}>
        {text}
      </pre>
      <CopyButton text={text} label={`Copy ${label.charAt(0).toLowerCase()}${label.slice(1)}`} />
    </div>
  );
}
