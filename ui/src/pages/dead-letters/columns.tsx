import { Link } from "wouter";

import type { Shape } from "../../api/types";
import { count } from "../../core/format";
import { encode, link, path } from "../../core/url";
import { useParameters } from "../../kit/address";
import { Moment } from "../../kit/Moment";
import type { Column } from "../../kit/Table";
import { causeOf, errorOf, FILTER, kindWords } from "./filter";
import styles from "./styles.module.css";

type Group = Shape<"DeadLetterGroup">;
type Letter = Shape<"DeadLetter">;

export const letterHref = ({ id }: { id: string }): string => path("dead-letters", id);
export const groupId = ({ kind, code, workflowId, stepId }: Group): string => JSON.stringify([kind, code, workflowId, stepId]);

/** A code, or the kind of letter where the error has none. */
function Cause({ code, message, kind }: { code: string | null; message: string | null; kind: string }) {
  return (
    <span className={styles["cause"]}>
      <b>{code ?? kindWords(kind)}</b>
      <span className={styles["muted"]} title={message ?? undefined}>
        {message ?? kindWords(kind)}
      </span>
    </span>
  );
}

function GroupLink({ group }: { group: Group }) {
  const search = useParameters();
  const operation = search.get("operation");
  const rest = new URLSearchParams(operation === null ? {} : { operation });
  return (
    <Link href={link("/dead-letters", encode(FILTER, causeOf(group), rest))} className={styles["causeLink"]}>
      <Cause code={group.code} message={group.message} kind={group.kind} />
    </Link>
  );
}

export const GROUP_COLUMNS: readonly Column<Group>[] = [
  { id: "count", title: "Letters", width: "70px", align: "end", cell: (row) => <b>{count(row.count)}</b> },
  { id: "cause", title: "Cause", width: "minmax(200px, 2.4fr)", cell: (row) => <GroupLink group={row} /> },
  { id: "workflow", title: "Workflow", width: "minmax(90px, 1fr)", cell: (row) => row.workflowId ?? <span className={styles["muted"]}>erased</span> },
  { id: "step", title: "Step", width: "minmax(80px, 1fr)", isMinor: true, cell: (row) => row.stepId },
  { id: "task", title: "Task", width: "minmax(80px, 1fr)", isMinor: true, cell: (row) => row.taskId ?? "–" },
  { id: "first", title: "First", width: "140px", isMinor: true, cell: (row) => <Moment at={row.firstAt} /> },
  { id: "last", title: "Last", width: "140px", isMinor: true, cell: (row) => <Moment at={row.lastAt} /> },
];

export const LETTER_COLUMNS: readonly Column<Letter>[] = [
  { id: "at", title: "Time", width: "140px", cell: ({ at }) => <Moment at={at} /> },
  {
    id: "code",
    title: "Cause",
    width: "minmax(120px, 1.2fr)",
    cell: (row) => (
      <Link href={letterHref(row)} className={styles["code"]}>
        {errorOf(row.error).code ?? kindWords(row.kind)}
      </Link>
    ),
  },
  { id: "message", title: "Message", width: "minmax(140px, 2.4fr)", isMinor: true, cell: (row) => <span title={(errorOf(row.error).message ?? "").slice(0, 500)}>{(errorOf(row.error).message ?? "–").slice(0, 300)}</span> },
  { id: "workflow", title: "Workflow", width: "minmax(90px, 1fr)", isMinor: true, cell: (row) => row.workflowId ?? <span className={styles["muted"]}>erased</span> },
  { id: "step", title: "Step", width: "minmax(80px, 1fr)", cell: ({ stepId, iteration }) => (iteration === "" ? stepId : `${stepId} #${iteration}`) },
  {
    id: "instance",
    title: "Instance",
    width: "minmax(120px, 1fr)",
    isMinor: true,
    cell: ({ instanceId }) => (
      <Link href={path("instances", instanceId)} className={styles["id"]}>
        {instanceId}
      </Link>
    ),
  },
  { id: "attempts", title: "Attempts", width: "80px", align: "end", isMinor: true, cell: ({ attempts }) => count(attempts) },
];
