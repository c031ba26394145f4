import { Link } from "wouter";

import { useList } from "../../api/queries";
import type { Shape } from "../../api/types";
import { Duration, Moment } from "../../kit/Moment";
import { EmptyState, ErrorState, Loading } from "../../kit/States";
import { StatusBadge } from "../../kit/StatusBadge";
import { Table, type Column } from "../../kit/Table";
import { instanceHref, instancesHref } from "./links";
import styles from "./styles.module.css";

type Instance = Shape<"InstanceItem">;

const COLUMNS: readonly Column<Instance>[] = [
  { id: "status", title: "Status", width: "170px", cell: ({ status }) => <StatusBadge status={status} /> },
  {
    id: "id",
    title: "Instance",
    width: "minmax(160px, 2fr)",
    cell: ({ id }) => (
      <Link href={instanceHref(id)}>
        <code>{id}</code>
      </Link>
    ),
  },
  { id: "version", title: "Version", width: "70px", isMinor: true, cell: ({ definitionVersion }) => `v${definitionVersion}` },
  { id: "at", title: "At", width: "minmax(90px, 1fr)", isMinor: true, cell: ({ currentSteps }) => currentSteps.join(", ") || "–" },
  { id: "started", title: "Started", width: "130px", isMinor: true, cell: ({ startedAt }) => <Moment at={startedAt} /> },
  { id: "took", title: "Took", width: "90px", align: "end", isMinor: true, cell: ({ startedAt, completedAt }) => <Duration from={startedAt} to={completedAt} /> },
];

/** The instances of a workflow, newest first. */
export function InstancesTab({ id }: { id: string }) {
  const list = useList("/api/v1/instances", { query: { workflowId: id } });
  if (list.isPending) return <Loading label="Loading instances" />;
  if (list.error !== null && list.items.length === 0) return <ErrorState error={list.error} onRetry={list.refresh} />;
  if (list.items.length === 0) {
    return (
      <EmptyState title="It has not been started yet" command={`tenuto start ${id} --input '{}'`}>
        Its instances appear here as soon as one is started.
      </EmptyState>
    );
  }
  return (
    <Table
      label="Instances"
      columns={COLUMNS}
      rows={list.items}
      idOf={(row) => row.id}
      hrefOf={(row) => instanceHref(row.id)}
      onEnd={list.readMore}
      foot={
        <p className={styles["foot"]}>
          <Link href={instancesHref(id)}>Search them, and act on many</Link>
        </p>
      }
    />
  );
}
