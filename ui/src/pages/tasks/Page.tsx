import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "wouter";

import { basePath } from "../../api/base";
import { LIST_REFRESH_MS, read } from "../../api/queries";
import type { Shape } from "../../api/types";
import { count } from "../../core/format";
import { useParameters } from "../../kit/address";
import { ListFoot, Listed } from "../../kit/Listed";
import { Duration } from "../../kit/Moment";
import { Notice } from "../../kit/Notice";
import { Page } from "../../kit/Page";
import { Snippet } from "../../kit/Snippet";
import { Stack } from "../../kit/Stack";
import { EmptyState } from "../../kit/States";
import { StatusBadge } from "../../kit/StatusBadge";
import { Table, type Column } from "../../kit/Table";
import { isStranded, takers, workerCommand } from "./taking";
import styles from "./styles.module.css";
import { TaskDialog } from "./TaskDialog";

type Queue = Shape<"TaskQueueView">;

/** Every task with its queue, and what takes it. The chosen task is in the URL. */
export default function TasksPage() {
  const queues = useQuery({ ...read("/api/v1/task-queues"), refetchInterval: LIST_REFRESH_MS });
  const [, setSearch] = useSearchParams();
  const chosen = useParameters().get("task");
  const list = { items: queues.data?.items ?? [], isPending: queues.isPending, error: queues.error, hasMore: false, isComplete: queues.data?.isComplete ?? true, refresh: () => void queues.refetch() };
  // What needs someone comes first.
  const rows = [...list.items].sort((one, other) => Number(isStranded(other)) - Number(isStranded(one)) || other.waiting - one.waiting || one.taskId.localeCompare(other.taskId));
  const stranded = rows.filter(isStranded);
  return (
    <Page title="Tasks" isFilled>
      {!list.isComplete && (
        <div className={styles["stranded"]}>
          <Notice tone="amber">There are more tasks than are listed here. Those with attempts that wait or run are among them.</Notice>
        </div>
      )}
      {stranded.length > 0 && <Stranded names={stranded.map(({ taskId }) => taskId)} />}
      <Listed
        list={list}
        label="tasks"
        empty={
          <EmptyState title="No task is known yet" command={workerCommand(serviceUrl())}>
            A task appears here when a service or a worker has it, when it is declared, or when a step waits for it.
          </EmptyState>
        }
      >
        <Table label="Tasks" columns={columnsOf((task) => setSearch({ task }))} rows={rows} idOf={(row) => row.taskId} isSelected={(row) => row.taskId === chosen} foot={<ListFoot list={list} one="task" />} />
      </Listed>
      {chosen !== null && <TaskDialog id={chosen} queue={list.items.find((each) => each.taskId === chosen)} onClose={() => setSearch({})} />}
    </Page>
  );
}

const serviceUrl = (): string => `${window.location.origin}${basePath}`;

function Stranded({ names }: { names: readonly string[] }) {
  const shown = names.slice(0, 5).join(", ") + (names.length > 5 ? ` and ${count(names.length - 5)} more` : "");
  return (
    <div className={styles["stranded"]}>
      <Notice tone="amber">
        <Stack>
          <p>
            No worker has <b>{shown}</b>: steps wait for {names.length === 1 ? "it" : "them"}, and nothing takes {names.length === 1 ? "it" : "them"}. Start a worker with the code of {names.length === 1 ? "the task" : "these tasks"}:
          </p>
          <Snippet label="Command" text={workerCommand(serviceUrl())} />
        </Stack>
      </Notice>
    </div>
  );
}

function columnsOf(open: (id: string) => void): readonly Column<Queue>[] {
  return [
    {
      id: "task",
      title: "Task",
      width: "minmax(140px, 2fr)",
      narrow: "minmax(0, 1.3fr)",
      cell: ({ taskId }) => (
        <button type="button" className={styles["open"]} title={taskId} onClick={() => open(taskId)}>
          {taskId}
        </button>
      ),
    },
    { id: "waiting", title: "Waiting", width: "80px", narrow: "52px", align: "end", cell: ({ waiting }) => <Amount value={waiting} /> },
    { id: "oldest", title: "Longest", width: "100px", align: "end", isMinor: true, cell: ({ oldestWaiting }) => (oldestWaiting === null ? "–" : <Duration from={oldestWaiting} to={null} />) },
    { id: "running", title: "Running", width: "80px", narrow: "54px", align: "end", cell: ({ running }) => <Amount value={running} /> },
    { id: "takers", title: "Taken by", width: "minmax(110px, 1.4fr)", cell: (row) => <span className={isStranded(row) ? styles["none"] : undefined}>{takers(row)}</span> },
    { id: "breaker", title: "Breaker", width: "120px", isMinor: true, cell: ({ breaker }) => (breaker === undefined ? <span aria-label="none">–</span> : <StatusBadge status={breaker} look="plain" />) },
    { id: "declared", title: "Declared", width: "90px", isMinor: true, cell: ({ isDeclared, isPushed }) => (isPushed ? "pushed" : isDeclared ? "yes" : <span className={styles["muted"]}>no</span>) },
  ];
}

const Amount = ({ value }: { value: number }) => (value === 0 ? <span className={styles["muted"]}>0</span> : <b>{count(value)}</b>);
