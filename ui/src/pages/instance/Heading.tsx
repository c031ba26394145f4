import { CopyButton } from "../../kit/CopyButton";
import { visible } from "../../kit/JsonView";
import { StatusBadge } from "../../kit/StatusBadge";
import { useShared } from "./context";
import { shortId } from "../../core/ids";
import styles from "./styles.module.css";

/** The id, short on screen and whole when copied, and the status. */
export function Heading() {
  const { id, now } = useShared();
  const undoing = now.compensation !== null && now.compensation.completedAt === null;
  return (
    <span className={styles["heading"]}>
      <span className={styles["id"]} title={id}>
        {visible(shortId(id))}
      </span>
      <CopyButton text={id} label="Copy id" />
      <StatusBadge status={now.status} />
      {undoing && <StatusBadge status="COMPENSATING" />}
    </span>
  );
}
