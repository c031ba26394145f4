import { useQuery } from "@tanstack/react-query";
import { ChevronDown, ChevronUp, History } from "lucide-react";

import { send } from "../../../api/queries";
import { Button, IconButton } from "../../../kit/Button";
import { JsonView } from "../../../kit/JsonView";
import { Moment } from "../../../kit/Moment";
import { ErrorState, Loading } from "../../../kit/States";
import { useShared } from "../context";
import { firstOf } from "../model/window";
import styles from "../styles.module.css";

/** One entry of the log, as it is; also one that was not read with the list. */
export function EntryPart({ seq }: { seq: number }) {
  const { id, log, select, now } = useShared();
  const held = log.window.entries[seq - firstOf(log.window)];
  const found = useQuery({
    queryKey: ["entry", id, seq],
    queryFn: async () => (await send("get", "/api/v1/instances/{id}/history", { path: { id }, query: { after: seq - 1, limit: 1 } })).items[0] ?? null,
    enabled: held === undefined && !log.isReading,
    staleTime: Infinity,
  });
  const entry = held ?? found.data;
  const go = (next: number) => select({ entry: next }, "replace");
  return (
    <div className={styles["form"]}>
      <div className={styles["filters"]}>
        <IconButton label="Later entry" icon={<ChevronUp />} disabled={seq >= Math.max(log.length, now.version)} onClick={() => go(seq + 1)} />
        <IconButton label="Earlier entry" icon={<ChevronDown />} disabled={seq <= 1} onClick={() => go(seq - 1)} />
        <b>Entry {seq}</b>
        {entry && <Moment at={entry.at} />}
        <Button icon={<History />} onClick={() => select({ at: seq })}>
          Show the state then
        </Button>
      </div>
      {entry === undefined ? (
        found.error !== null ? <ErrorState isInline error={found.error} /> : <Loading label="Loading the entry" />
      ) : entry === null ? (
        <p className={styles["muted"]}>The log has no entry {seq}.</p>
      ) : (
        <JsonView value={entry} label={`Entry ${seq}`} />
      )}
    </div>
  );
}
