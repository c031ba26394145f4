import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";

import { read } from "../../api/queries";
import type { Shape } from "../../api/types";
import { count, duration } from "../../core/format";
import { encode, link, optional } from "../../core/url";
import { Dialog } from "../../kit/Dialog";
import { Facts } from "../../kit/Facts";
import { JsonView } from "../../kit/JsonView";
import { Duration, Moment } from "../../kit/Moment";
import { Stack } from "../../kit/Stack";
import { ErrorState, Loading } from "../../kit/States";
import { StatusBadge } from "../../kit/StatusBadge";
import styles from "./styles.module.css";
import { takers } from "./taking";

type Details = Shape<"TaskDetails">;

/** One task: its queue, its policies, its limits, and the state of its address. */
export function TaskDialog({ id, queue, onClose }: { id: string; queue: Shape<"TaskQueueView"> | undefined; onClose: () => void }) {
  const isDeclared = queue === undefined || queue.isDeclared;
  const task = useQuery({ ...read("/api/v1/tasks/{taskId}", { path: { taskId: id } }), enabled: isDeclared });
  return (
    <Dialog title={id} isOpen size="wide" onClose={onClose}>
      <Stack>
        {queue !== undefined && (
          <Facts
            facts={[
              ["Waiting", count(queue.waiting)],
              ["Longest", queue.oldestWaiting === null ? null : <Duration key="" from={queue.oldestWaiting} to={null} />],
              ["Running", count(queue.running)],
              ["Taken by", takers(queue)],
              ["Dead letters", <Link key="" href={link("/dead-letters", encode({ taskId: optional() }, { taskId: id }))}>show</Link>],
            ]}
          />
        )}
        {!isDeclared ? (
          <p className={styles["muted"]}>It is not declared: its steps and its code say how it is tried.</p>
        ) : task.isPending ? (
          <Loading label="Loading the task" />
        ) : task.data === undefined ? (
          <ErrorState isInline error={task.error} onRetry={() => void task.refetch()} />
        ) : (
          <Declared task={task.data} />
        )}
      </Stack>
    </Dialog>
  );
}

function Declared({ task }: { task: Details }) {
  const { limits, breaker, target } = task;
  return (
    <>
      {typeof task.description === "string" && <p className={styles["about"]}>{task.description}</p>}
      <Facts
        facts={[
          ["Kind", task.kind === "push" ? "pushed to an address" : "claimed by workers"],
          ["Address", typeof task.url === "string" ? <code key="">{task.url}</code> : null],
          ["Timeout", lengthOf(task.timeout)],
          ["Heartbeat", lengthOf(task.heartbeatTimeout)],
          ["Together", limits.concurrency === null || limits.concurrency === undefined ? "no limit" : `at most ${count(limits.concurrency)}`],
          ["Rate", limits.ratePerSecond === null || limits.ratePerSecond === undefined ? "no limit" : `${limits.ratePerSecond} a second`],
          ["Version", count(task.version)],
          ["Changed", <Moment key="" at={task.updatedAt} />],
        ]}
      />
      {target !== undefined && (
        <Facts
          facts={[
            ["Breaker", <StatusBadge key="" status={target.breaker} />],
            ["Failures in a row", `${count(target.failures)}${breaker?.failures === undefined ? "" : `, opens after ${breaker.failures}`}`],
            ["Tried again", target.openUntil === null ? null : <Moment key="" at={target.openUntil} />],
            ["Unanswered", count(target.inFlight)],
          ]}
        />
      )}
      {task.retry !== null && task.retry !== undefined && <Value title="Retry" value={task.retry} />}
      {(task.registered ?? []).length > 0 && <Value title="Registered by workers" value={task.registered} />}
      {task.inputSchema !== null && task.inputSchema !== undefined && <Value title="Input schema" value={task.inputSchema} />}
      {task.outputSchema !== null && task.outputSchema !== undefined && <Value title="Output schema" value={task.outputSchema} />}
    </>
  );
}

function Value({ title, value }: { title: string; value: unknown }) {
  return (
    <section>
      <h3>{title}</h3>
      <JsonView label={title} value={value} />
    </section>
  );
}

/** A length in milliseconds, or as it was written ("PT5M"). */
const lengthOf = (value: string | number | null | undefined): string | null => (value === null || value === undefined ? null : typeof value === "number" ? duration(value) : value);
