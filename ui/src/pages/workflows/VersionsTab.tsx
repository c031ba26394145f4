import { Link } from "wouter";

import { useList } from "../../api/queries";
import type { Shape } from "../../api/types";
import { counted } from "../../core/format";
import { Moment } from "../../kit/Moment";
import { ErrorState, Loading } from "../../kit/States";
import { Table, type Column } from "../../kit/Table";
import { startHref, workflowHref } from "./links";
import styles from "./styles.module.css";

/** Every version, newest first, each with what it changed. */
export function VersionsTab({ id, shown }: { id: string; shown: number }) {
  const list = useList("/api/v1/workflows/{id}/versions", { path: { id } });
  const columns: readonly Column<Shape<"WorkflowItem">>[] = [
    {
      id: "version",
      title: "Version",
      width: "150px",
      narrow: "minmax(0, 1.2fr)",
      cell: ({ version }) => (
        <>
          <Link href={`${workflowHref(id)}?version=${version}`} className={styles["name"]}>
            Version {version}
          </Link>
          {version === shown && <span className={styles["muted"]}> shown</span>}
        </>
      ),
    },
    { id: "saved", title: "Saved", width: "160px", narrow: "minmax(0, 1fr)", cell: ({ createdAt }) => <Moment at={createdAt} /> },
    { id: "name", title: "Name", width: "minmax(120px, 2fr)", isMinor: true, cell: ({ name, description }) => [name, description].filter(Boolean).join(" · ") || "–" },
    {
      id: "compare",
      title: "Changes",
      width: "minmax(130px, 1fr)",
      narrow: "auto",
      cell: ({ version }) => (version === 1 ? <span className={styles["muted"]}>The first</span> : <Link href={`${workflowHref(id)}?diff=${version - 1}..${version}`}>Compare with {version - 1}</Link>),
    },
    { id: "start", title: "", width: "110px", isMinor: true, align: "end", cell: ({ version }) => <Link href={`${startHref(id)}?version=${version}`}>Start this one</Link> },
  ];
  if (list.isPending) return <Loading label="Loading versions" />;
  if (list.error !== null && list.items.length === 0) return <ErrorState error={list.error} onRetry={list.refresh} />;
  return (
    <Table
      label="Versions"
      columns={columns}
      rows={list.items}
      idOf={({ version }) => String(version)}
      isSelected={({ version }) => version === shown}
      onEnd={list.readMore}
      foot={<p className={styles["foot"]}>{list.hasMore ? "Reading on…" : counted(list.items.length, "version")}</p>}
    />
  );
}
