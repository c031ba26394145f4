import { Link } from "wouter";

import { useList } from "../../api/queries";
import { count, counted } from "../../core/format";
import { Duration, Moment } from "../../kit/Moment";
import { Page } from "../../kit/Page";
import { EmptyState, ErrorState, Loading } from "../../kit/States";
import { StatusBadge } from "../../kit/StatusBadge";
import { Table, type Column } from "../../kit/Table";
import styles from "./styles.module.css";
import { hrefOf, statusOf, titleOf, type Operation } from "./words";

const COLUMNS: readonly Column<Operation>[] = [
  { id: "status", title: "Status", width: "190px", cell: (row) => <StatusBadge status={statusOf(row)} /> },
  { id: "what", title: "Operation", width: "minmax(140px, 2fr)", cell: (row) => <Link href={hrefOf(row)}>{titleOf(row)}</Link> },
  { id: "done", title: "Done", width: "80px", align: "end", cell: (row) => count(row.done) },
  { id: "failed", title: "Failed", width: "80px", align: "end", cell: (row) => <span className={row.failed > 0 ? styles["failed"] : undefined}>{count(row.failed)}</span> },
  { id: "by", title: "By", width: "minmax(100px, 1fr)", isMinor: true, cell: (row) => row.requestedBy },
  { id: "began", title: "Began", width: "130px", isMinor: true, cell: (row) => <Moment at={row.createdAt} /> },
  { id: "took", title: "Took", width: "80px", align: "end", isMinor: true, cell: (row) => <Duration from={row.createdAt ?? null} to={row.endedAt ?? null} /> },
];

/** Actions over many instances or dead letters, newest first. */
export default function OperationsPage() {
  const list = useList("/api/v1/instances/bulk", { query: { limit: 100 } });
  return (
    <Page title="Bulk operations" isFilled>
      {list.isPending ? (
        <Loading label="Loading bulk operations" />
      ) : list.error !== null && list.items.length === 0 ? (
        <ErrorState error={list.error} onRetry={list.refresh} />
      ) : list.items.length === 0 ? (
        <EmptyState title="No action over many has been asked for" command="tenuto retry --status FAILED --dry-run" action={<Link href="/instances?q=status%3Afailed">See failed instances</Link>}>
          Filter the list of instances and choose “Act on all…”: what was begun so is shown here, with its progress and its results.
        </EmptyState>
      ) : (
        <Table
          label="Bulk operations"
          columns={COLUMNS}
          rows={list.items}
          idOf={(row) => row.id ?? ""}
          hrefOf={hrefOf}
          onEnd={list.readMore}
          foot={<p className={styles["foot"]}>{list.hasMore ? "Reading on…" : counted(list.items.length, "operation")}</p>}
        />
      )}
    </Page>
  );
}
