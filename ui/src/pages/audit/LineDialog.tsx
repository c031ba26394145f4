import { useEffect } from "react";

import type { Shape } from "../../api/types";
import { CopyButton } from "../../kit/CopyButton";
import { Dialog } from "../../kit/Dialog";
import { Facts } from "../../kit/Facts";
import { JsonView } from "../../kit/JsonView";
import { Moment } from "../../kit/Moment";
import { Stack } from "../../kit/Stack";
import { Loading } from "../../kit/States";
import { StatusBadge } from "../../kit/StatusBadge";
import styles from "./styles.module.css";

type Line = Shape<"AuditLine">;

interface Lines {
  items: readonly Line[];
  hasMore: boolean;
  isReadingMore: boolean;
  readMore: () => void;
}

/** One line with what was before and after. A line of a link that is further down is read up to. */
export function LineDialog({ number, list, onClose }: { number: number; list: Lines; onClose: () => void }) {
  const line = list.items.find((each) => each.number === number);
  const isFurther = line === undefined && list.hasMore && number < (list.items.at(-1)?.number ?? 0);
  useEffect(() => {
    if (isFurther && !list.isReadingMore) list.readMore();
  });
  return (
    <Dialog title={`Line ${number}`} isOpen size="wide" onClose={onClose}>
      {line !== undefined ? <Details line={line} /> : isFurther ? <Loading /> : <p>The filter leaves this line out, or it does not exist.</p>}
    </Dialog>
  );
}

function Details({ line }: { line: Line }) {
  return (
    <Stack>
      <Facts
        facts={[
          ["Action", line.action],
          ["Outcome", <StatusBadge key="" status={line.outcome} look="plain" />],
          ["Time", <Moment key="" at={line.at} />],
          ["Actor", line.actor],
          ["Credential", line.credential],
          ["From", line.source],
        ]}
      />
      <Facts
        facts={[
          ["Object", <code key="">{line.target}</code>],
          ["Request", <Copied key="" text={line.requestId} />],
          ["Hash", <Copied key="" text={line.hash} label={`${line.hash.slice(0, 16)}…`} />],
        ]}
      />
      <div className={styles["sides"]}>
        <Side title="Before" value={line.before} />
        <Side title="After" value={line.after} />
      </div>
    </Stack>
  );
}

function Copied({ text, label = text }: { text: string; label?: string }) {
  return (
    <span className={styles["copied"]}>
      <code>{label}</code>
      <CopyButton text={text} />
    </span>
  );
}

function Side({ title, value }: { title: string; value: unknown }) {
  return (
    <section>
      <h3>{title}</h3>
      {value === null || value === undefined ? <p className={styles["none"]}>Nothing was recorded.</p> : <JsonView label={title} value={value} />}
    </section>
  );
}
