import { basePath } from "../../api/base";
import { useList } from "../../api/queries";
import type { Shape } from "../../api/types";
import { count } from "../../core/format";
import { ListFoot, Listed } from "../../kit/Listed";
import { Duration, Moment } from "../../kit/Moment";
import { Page } from "../../kit/Page";
import { EmptyState } from "../../kit/States";
import { StatusBadge } from "../../kit/StatusBadge";
import { Table, type Column } from "../../kit/Table";
import styles from "./styles.module.css";
import { workerCommand } from "./taking";

type Worker = Shape<"WorkerStatus">;

const COLUMNS: readonly Column<Worker>[] = [
  { id: "state", title: "State", width: "120px", cell: ({ isConnected }) => <StatusBadge status={isConnected ? "CONNECTED" : "SILENT"} look="plain" /> },
  { id: "id", title: "Worker", width: "minmax(140px, 2fr)", cell: ({ workerId }) => <span className={styles["id"]} title={workerId}>{workerId}</span> },
  { id: "running", title: "Holds", width: "80px", align: "end", cell: ({ running }) => count(running) },
  { id: "tasks", title: "Takes", width: "minmax(140px, 3fr)", isMinor: true, cell: (row) => <span title={taken(row)}>{taken(row)}</span> },
  { id: "seen", title: "Seen", width: "140px", cell: ({ lastSeen }) => <Moment at={lastSeen} /> },
  { id: "since", title: "Connected for", width: "110px", align: "end", isMinor: true, cell: ({ since, lastSeen, isConnected }) => <Duration from={since} to={isConnected ? null : lastSeen} /> },
];

function taken({ taskIds, tasksLeftOut = 0 }: Worker): string {
  if (taskIds === null) return "any task";
  return taskIds.join(", ") + (tasksLeftOut > 0 ? ` and ${count(tasksLeftOut)} more` : "");
}

/** The workers that were seen within the last hour, and what they hold. */
export default function WorkersPage() {
  const list = useList("/api/v1/workers", { query: { limit: 500 } });
  return (
    <Page title="Workers" isFilled>
      <Listed
        list={list}
        label="workers"
        empty={
          <EmptyState title="No worker was seen within the last hour" command={workerCommand(`${window.location.origin}${basePath}`)}>
            Tasks that a service runs itself need none. A worker appears here when it asks for work for the first time.
          </EmptyState>
        }
      >
        <Table label="Workers" columns={COLUMNS} rows={list.items} idOf={(row) => row.workerId} onEnd={list.readMore} foot={<ListFoot list={list} one="worker" />} />
      </Listed>
    </Page>
  );
}
