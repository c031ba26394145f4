import { Plus } from "lucide-react";
import { useMemo, useState, type ReactNode } from "react";
import { Link, useSearchParams } from "wouter";

import { useMay } from "../../api/me";
import { useList } from "../../api/queries";
import { count } from "../../core/format";
import { Button } from "../../kit/Button";
import { ListFoot, Listed } from "../../kit/Listed";
import { Moment } from "../../kit/Moment";
import { Page } from "../../kit/Page";
import { EmptyState } from "../../kit/States";
import { StatusBadge } from "../../kit/StatusBadge";
import { Table, type Column } from "../../kit/Table";
import { Tabs } from "../../kit/Tabs";
import { hrefOf, ofSubscription, ofWebhook, type Listener } from "./listener";
import styles from "./styles.module.css";
import { WebhookDialog } from "./WebhookDialog";

/** The addresses that are notified of events: what is on its way, and what fails. */
export default function WebhooksPage() {
  const [search, setSearch] = useSearchParams();
  const [isCreating, setIsCreating] = useState(false);
  const mayWrite = useMay("listeners:write");
  const create = mayWrite && (
    <Button look="primary" icon={<Plus />} onClick={() => setIsCreating(true)}>
      Create webhook
    </Button>
  );
  return (
    <Page title="Webhooks and subscriptions" isFilled actions={create}>
      <div className={styles["tabs"]}>
        <Tabs
          label="Kind"
          chosen={search.get("tab") ?? "webhooks"}
          onChoose={(tab) => setSearch(tab === "webhooks" ? {} : { tab })}
          tabs={[
            { id: "webhooks", label: "Webhooks", content: <Webhooks create={create} /> },
            { id: "subscriptions", label: "Subscriptions", content: <Subscriptions /> },
          ]}
        />
      </div>
      {isCreating && <WebhookDialog onClose={() => setIsCreating(false)} />}
    </Page>
  );
}

function Webhooks({ create }: { create: ReactNode }) {
  const list = useList("/api/v1/webhooks", { query: { limit: 500 } });
  const rows = useMemo(() => list.items.map(ofWebhook), [list.items]);
  return (
    <Listed
      list={list}
      label="webhooks"
      empty={
        <EmptyState title="There is no webhook" action={create} command="tenuto webhooks add https://example.com/hook 'order.*'">
          A webhook is an address that receives events until it is removed.
        </EmptyState>
      }
    >
      <Listeners label="Webhooks" rows={rows} list={list} />
    </Listed>
  );
}

function Subscriptions() {
  const list = useList("/api/v1/subscriptions", { query: { limit: 500 } });
  const rows = useMemo(() => list.items.map(ofSubscription), [list.items]);
  return (
    <Listed list={list} label="subscriptions" empty={<EmptyState title="There is no subscription">A subscription is an address that receives events until it expires. Programs make them: POST /api/v1/subscriptions.</EmptyState>}>
      <Listeners label="Subscriptions" rows={rows} list={list} />
    </Listed>
  );
}

function Listeners({ label, rows, list }: { label: string; rows: readonly Listener[]; list: ReturnType<typeof useList<"/api/v1/webhooks">> | ReturnType<typeof useList<"/api/v1/subscriptions">> }) {
  return <Table label={label} columns={COLUMNS} rows={rows} idOf={(row) => row.id} hrefOf={hrefOf} onEnd={list.readMore} foot={<ListFoot list={list} one={label.toLowerCase().slice(0, -1)} />} />;
}

const COLUMNS: readonly Column<Listener>[] = [
  { id: "state", title: "State", width: "110px", cell: ({ state }) => <StatusBadge status={state} look="plain" /> },
  {
    id: "url",
    title: "Address",
    width: "minmax(160px, 2fr)",
    cell: (row) => (
      <Link href={hrefOf(row)} className={styles["url"]} title={row.url}>
        {row.url}
      </Link>
    ),
  },
  { id: "patterns", title: "Events", width: "minmax(100px, 1.2fr)", isMinor: true, cell: ({ patterns }) => <span title={patterns.join(", ")}>{patterns.join(", ")}</span> },
  { id: "pending", title: "Pending", width: "80px", align: "end", cell: ({ pending }) => count(pending) },
  { id: "delivered", title: "Last arrived", width: "140px", isMinor: true, cell: ({ deliveredAt }) => <Moment at={deliveredAt} /> },
  { id: "error", title: "Last error", width: "minmax(120px, 1.8fr)", isMinor: true, cell: ({ lastError, state }) => (state === "active" ? "–" : <span title={lastError ?? undefined}>{lastError ?? "–"}</span>) },
];
