import { Radio } from "lucide-react";

import { count } from "../../core/format";
import { Button } from "../../kit/Button";
import styles from "./styles.module.css";
import type { Follow } from "./useFollowing";

/** Says that the newest is kept in sight, or leads back to it. */
export function FollowButton({ follow, missed = 0 }: { follow: Follow; missed?: number }) {
  if (!follow.isPossible) return null;
  if (follow.isOn) {
    return (
      <span className={styles["following"]} title="The newest stays in sight until you scroll">
        <Radio aria-hidden /> Following
      </span>
    );
  }
  return (
    <Button look="primary" icon={<Radio />} onClick={follow.start}>
      {missed > 0 ? `Follow, ${count(missed)} new` : "Follow"}
    </Button>
  );
}
