import { Plus } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";

import { useMay } from "../../api/me";
import { useList } from "../../api/queries";
import type { Shape } from "../../api/types";
import { path } from "../../core/url";
import { Button } from "../../kit/Button";
import { ListFoot, Listed } from "../../kit/Listed";
import { Moment } from "../../kit/Moment";
import { Page } from "../../kit/Page";
import { EmptyState } from "../../kit/States";
import { Table, type Column } from "../../kit/Table";
import { RemoveSecret } from "./RemoveSecret";
import { SetSecret } from "./SetSecret";
import styles from "./styles.module.css";

type Secret = Shape<"Secret">;

/** The secrets of the tenant: names, and what uses them; a value is written and never shown. */
export default function SecretsPage() {
  const list = useList("/api/v1/secrets", { query: { limit: 500 } });
  const mayWrite = useMay("secrets:write");
  const [setting, setSetting] = useState<Secret | "new" | null>(null);
  const [removing, setRemoving] = useState<Secret | null>(null);
  const add = mayWrite && (
    <Button look="primary" icon={<Plus />} onClick={() => setSetting("new")}>
      Add secret
    </Button>
  );
  return (
    <Page title="Secrets" isFilled actions={add}>
      <Listed
        list={list}
        label="secrets"
        empty={
          <EmptyState title="There is no secret" action={add} command="tenuto secrets set NAME">
            A step gets the value of a secret where its input has {"{{secrets.NAME}}"}. No record and no log shows it.
          </EmptyState>
        }
      >
        <Table label="Secrets" columns={columnsOf(mayWrite, setSetting, setRemoving)} rows={list.items} idOf={(row) => row.name} onEnd={list.readMore} foot={<ListFoot list={list} one="secret" />} />
      </Listed>
      {setting !== null && <SetSecret secret={setting === "new" ? undefined : setting} onClose={() => setSetting(null)} />}
      {removing !== null && <RemoveSecret secret={removing} onClose={() => setRemoving(null)} />}
    </Page>
  );
}

function columnsOf(mayWrite: boolean, replace: (row: Secret) => void, remove: (row: Secret) => void): readonly Column<Secret>[] {
  return [
    { id: "name", title: "Name", width: "minmax(140px, 2fr)", cell: ({ name }) => <code>{name}</code> },
    { id: "for", title: "Sent to", width: "minmax(110px, 1.5fr)", cell: ({ destinations }) => (destinations == null ? <span className={styles["muted"]}>every step</span> : <span title={destinations.join(", ")}>{destinations.join(", ")}</span>) },
    { id: "used", title: "Used by", width: "minmax(110px, 1.5fr)", isMinor: true, cell: ({ usedBy }) => <Uses usedBy={usedBy} /> },
    { id: "changed", title: "Changed", width: "140px", cell: ({ changedAt }) => <Moment at={changedAt} /> },
    { id: "by", title: "By", width: "minmax(80px, 1fr)", isMinor: true, cell: ({ changedBy }) => changedBy },
    {
      id: "act",
      title: "",
      width: "180px",
      align: "end",
      cell: (row) =>
        mayWrite && (
          <span className={styles["actions"]}>
            <Button aria-label={`Replace ${row.name}`} onClick={() => replace(row)}>
              Replace
            </Button>
            <Button look="danger" aria-label={`Remove ${row.name}`} onClick={() => remove(row)}>
              Remove
            </Button>
          </span>
        ),
    },
  ];
}

function Uses({ usedBy }: { usedBy: Secret["usedBy"] }) {
  const workflows = usedBy?.workflows ?? [];
  const sources = usedBy?.dataSources ?? [];
  if (workflows.length + sources.length === 0) return <span className={styles["muted"]}>nothing</span>;
  return (
    <span title={[...workflows, ...sources].join(", ")}>
      {workflows.map((id, place) => (
        <span key={id}>
          {place > 0 && ", "}
          <Link href={path("workflows", id)}>{id}</Link>
        </span>
      ))}
      {sources.length > 0 && `${workflows.length > 0 ? ", " : ""}${sources.join(", ")}`}
    </span>
  );
}
