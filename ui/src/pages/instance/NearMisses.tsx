import { Send } from "lucide-react";
import { useState } from "react";

import { useMay } from "../../api/me";
import type { Cause } from "../../core/explain";
import { counted } from "../../core/format";
import { asText } from "../../core/json";
import { Button } from "../../kit/Button";
import { FailedParts } from "../../kit/FailedParts";
import { visible } from "../../kit/JsonView";
import { Moment } from "../../kit/Moment";
import { useShared } from "./context";
import { waitsOf } from "./model/waits";
import styles from "./styles.module.css";

const FEW = 3;

/** The events that a wait nearly took, and which part of its condition each did not meet. */
export function NearMisses({ cause }: { cause: Cause }) {
  const { open } = useShared();
  const mayPublish = useMay("events:publish");
  const [isOpen, setIsOpen] = useState(false);
  const near = waitsOf({ items: [{ nearMisses: cause.details["nearMisses"] ?? [] }] })[0]?.nearMisses ?? [];
  if (near.length === 0) return null;
  const pattern = asText(cause.details["eventPattern"]) ?? "";
  const shown = isOpen ? near : near.slice(0, FEW);
  return (
    <div className={styles["near"]}>
      <p className={styles["nearTitle"]}>{counted(near.length, "event")} came near</p>
      <ul aria-label="Events that came near">
        {shown.map((each) => (
          <li key={each.eventId} className={styles["nearRow"]}>
            <span className={styles["nearWhen"]}>
              <code className={styles["cut"]}>{visible(each.eventId)}</code> <Moment at={each.at} />
            </span>
            <div className={styles["nearWhy"]}>
              <FailedParts failed={each.failed} />
            </div>
            {mayPublish && !pattern.includes("*") && (
              <Button icon={<Send />} onClick={() => open({ kind: "publish", step: cause.stepId ?? "", iteration: cause.iteration, pattern, eventId: each.eventId })}>
                Send corrected
              </Button>
            )}
          </li>
        ))}
      </ul>
      {near.length > shown.length && (
        <Button look="quiet" onClick={() => setIsOpen(true)}>
          {near.length - shown.length} more
        </Button>
      )}
    </div>
  );
}
