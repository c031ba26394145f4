import { CopyButton } from "../../kit/CopyButton";
import styles from "./styles.module.css";

/** A command to copy. */
export function Command({ text }: { text: string }) {
  return (
    <span className={styles["command"]}>
      <code>{text}</code>
      <CopyButton text={text} label="Copy command" />
    </span>
  );
}
