import { Link } from "wouter";

import { useList } from "../../../api/queries";
import type { Shape } from "../../../api/types";
import { shortId } from "../../../core/ids";
import { keyOf } from "../../../core/log";
import { path } from "../../../core/url";
import { visible } from "../../../kit/JsonView";
import { Duration, Moment } from "../../../kit/Moment";
import { EmptyState, ErrorState, Loading } from "../../../kit/States";
import { StatusBadge } from "../../../kit/StatusBadge";
import { Table, type Column } from "../../../kit/Table";
import { useShared } from "../context";
import styles from "../styles.module.css";

type Instance = Shape<"InstanceItem">;

const hrefOf = ({ id }: Instance): string => path("instances", id);

/** The instances that steps of this one are. */
export default function ChildrenTab() {
  const { id, now, select } = useShared();
  const list = useList("/api/v1/instances", { query: { parentId: id, limit: 200 } });
  const stepOf = new Map([...now.activations.values()].flatMap((node) => node.children.map((child) => [child, node] as const)));
  const columns: readonly Column<Instance>[] = [
    { id: "status", title: "Status", width: "150px", narrow: "120px", cell: (row) => <StatusBadge status={row.status} /> },
    {
      id: "id",
      title: "Instance",
      width: "minmax(140px, 1fr)",
      cell: (row) => (
        <Link href={hrefOf(row)} className={styles["mono"]} title={row.id}>
          {shortId(row.id)}
        </Link>
      ),
    },
    { id: "workflow", title: "Workflow", width: "minmax(120px, 1.5fr)", cell: (row) => `${visible(row.workflowDefinitionId)} v${row.definitionVersion}` },
    {
      id: "step",
      title: "Of step",
      width: "minmax(100px, 1fr)",
      isMinor: true,
      cell: (row) => {
        const node = stepOf.get(row.id);
        if (node === undefined) return "–";
        return (
          <button type="button" className={styles["stepLink"]} onClick={() => select({ step: node.step, iteration: node.iteration, attempt: null, entry: null })}>
            {visible(keyOf(node.step, node.iteration))}
          </button>
        );
      },
    },
    { id: "started", title: "Started", width: "130px", isMinor: true, cell: (row) => <Moment at={row.startedAt} /> },
    { id: "took", title: "Took", width: "90px", align: "end", isMinor: true, cell: (row) => <Duration from={row.startedAt} to={row.completedAt} /> },
  ];
  if (list.isPending) return <Loading label="Loading the children" />;
  if (list.error !== null && list.items.length === 0) return <ErrorState error={list.error} onRetry={list.refresh} />;
  if (list.items.length === 0) return <EmptyState title="It has no children">A step of the type child workflow starts another instance, which is listed here.</EmptyState>;
  return <Table label="Children" columns={columns} rows={list.items} idOf={(row) => row.id} hrefOf={hrefOf} onEnd={list.readMore} />;
}
