import { Plus } from "lucide-react";
import { useState } from "react";

import { useList } from "../../api/queries";
import type { Shape } from "../../api/types";
import { exactUtc } from "../../core/format";
import { Button } from "../../kit/Button";
import { ListFoot, Listed } from "../../kit/Listed";
import { Moment } from "../../kit/Moment";
import { Page } from "../../kit/Page";
import { EmptyState } from "../../kit/States";
import { StatusBadge } from "../../kit/StatusBadge";
import { Table, type Column } from "../../kit/Table";
import { CreateKey } from "./CreateKey";
import { makerOf } from "./lineage";
import { RevokeKey } from "./RevokeKey";
import styles from "./styles.module.css";

type Key = Shape<"KeyItem">;

/** The keys of the tenant, also those that no longer work. */
export default function KeysPage() {
  const list = useList("/api/v1/keys", { query: { limit: 500 } });
  const [isCreating, setIsCreating] = useState(false);
  const [revoking, setRevoking] = useState<Key | null>(null);
  const create = (
    <Button look="primary" icon={<Plus />} onClick={() => setIsCreating(true)}>
      Create key
    </Button>
  );
  return (
    <Page title="API keys" isFilled actions={create}>
      <Listed
        list={list}
        label="keys"
        empty={
          <EmptyState title="There is no key" action={create} command="tenuto keys create NAME --role operator">
            Until the first one is made, programs on this machine need none. From then on every request needs one.
          </EmptyState>
        }
      >
        <Table label="API keys" columns={columnsOf(list.items, setRevoking)} rows={list.items} idOf={(row) => row.id} onEnd={list.readMore} foot={<ListFoot list={list} one="key" />} />
      </Listed>
      {isCreating && <CreateKey onClose={() => setIsCreating(false)} />}
      {revoking !== null && <RevokeKey row={revoking} keys={list.items} isWhole={!list.hasMore} onClose={() => setRevoking(null)} />}
    </Page>
  );
}

function columnsOf(keys: readonly Key[], revoke: (row: Key) => void): readonly Column<Key>[] {
  const names = new Map(keys.map((key) => [key.id, key.name]));
  return [
    { id: "state", title: "State", width: "110px", cell: ({ state }) => <StatusBadge status={state} look="plain" /> },
    { id: "name", title: "Name", width: "minmax(120px, 2fr)", cell: ({ name }) => <span title={name}>{name}</span> },
    { id: "role", title: "Role", width: "minmax(80px, 1fr)", cell: ({ role, scopes }) => (scopes === null ? role : <span title={scopes.join(", ")}>{`${role}, only ${scopes.join(", ")}`}</span>) },
    { id: "tenant", title: "Tenant", width: "minmax(60px, 0.8fr)", isMinor: true, cell: ({ tenant }) => tenant },
    { id: "used", title: "Last used", width: "140px", isMinor: true, cell: ({ lastUsedAt }) => (lastUsedAt === null ? <span className={styles["muted"]}>never</span> : <Moment at={lastUsedAt} />) },
    { id: "expires", title: "Expires", width: "160px", isMinor: true, cell: ({ expiresAt }) => (expiresAt === null ? <span className={styles["muted"]}>never</span> : <Moment at={expiresAt} />) },
    { id: "made", title: "Made by", width: "minmax(90px, 1fr)", isMinor: true, cell: (row) => <span title={`${row.createdBy}, ${exactUtc(Date.parse(row.createdAt))}`}>{names.get(makerOf(row) ?? "") ?? row.createdBy}</span> },
    {
      id: "act",
      title: "",
      width: "80px",
      align: "end",
      cell: (row) =>
        row.state === "active" && (
          <Button look="danger" aria-label={`Revoke ${row.name}`} onClick={() => revoke(row)}>
            Revoke
          </Button>
        ),
    },
  ];
}
