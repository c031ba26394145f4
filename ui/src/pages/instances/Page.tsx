import { Link, useSearchParams } from "wouter";

import { useList } from "../../api/queries";
import type { Shape } from "../../api/types";
import { counted } from "../../core/format";
import { Duration, Moment } from "../../kit/Moment";
import { Page } from "../../kit/Page";
import { EmptyState, ErrorState, Loading } from "../../kit/States";
import { StatusBadge } from "../../kit/StatusBadge";
import { Table, type Column } from "../../kit/Table";
import styles from "./styles.module.css";

type Instance = Shape<"InstanceItem">;

const hrefOf = ({ id }: Instance): string => `/instances/${encodeURIComponent(id)}`;

const COLUMNS: readonly Column<Instance>[] = [
  { id: "status", title: "Status", width: "170px", cell: ({ status }) => <StatusBadge status={status} /> },
  {
    id: "id",
    title: "Instance",
    width: "minmax(200px, 2fr)",
    cell: (row) => (
      <Link href={hrefOf(row)} className={styles["id"]}>
        {row.id}
      </Link>
    ),
  },
  {
    id: "workflow",
    title: "Workflow",
    width: "minmax(120px, 1.5fr)",
    cell: (row) => `${row.workflowDefinitionId} v${row.definitionVersion}`,
  },
  { id: "steps", title: "At", width: "minmax(100px, 1fr)", isMinor: true, cell: (row) => row.currentSteps.join(", ") || "–" },
  { id: "started", title: "Started", width: "130px", isMinor: true, cell: (row) => <Moment at={row.startedAt} /> },
  {
    id: "took",
    title: "Took",
    width: "90px",
    align: "end",
    isMinor: true,
    cell: (row) => <Duration from={row.startedAt} to={row.completedAt} />,
  },
];

/** Instances, newest first. The filter is in the URL. */
export default function InstancesPage() {
  const [search] = useSearchParams();
  const status = search.get("status");
  const list = useList("/api/v1/instances", { query: { roots: true, ...(status === null ? {} : { status }) } });
  return (
    <Page title="Instances" isFilled>
      {list.isPending ? (
        <Loading label="Loading instances" />
      ) : list.error !== null && list.items.length === 0 ? (
        <ErrorState error={list.error} onRetry={list.refresh} />
      ) : list.items.length === 0 ? (
        <EmptyState title="No instance has been started yet" command="tenuto start WORKFLOW --input '{}'">
          An instance appears here as soon as a workflow is started, by a call, an event or a schedule.
        </EmptyState>
      ) : (
        <Table
          label="Instances"
          columns={COLUMNS}
          rows={list.items}
          idOf={(row) => row.id}
          hrefOf={hrefOf}
          onEnd={list.readMore}
          foot={<p className={styles["foot"]}>{list.hasMore ? "Reading on…" : counted(list.items.length, "instance")}</p>}
        />
      )}
    </Page>
  );
}
