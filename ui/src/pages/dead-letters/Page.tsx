import { useQuery } from "@tanstack/react-query";
import { RotateCw, Trash2, X } from "lucide-react";
import { useState } from "react";
import { Link, useSearchParams } from "wouter";

import { useMay } from "../../api/me";
import { LIST_REFRESH_MS, read, useList } from "../../api/queries";
import { decode, encode, link } from "../../core/url";
import { useParameters } from "../../kit/address";
import { Button } from "../../kit/Button";
import { ListFoot, Listed } from "../../kit/Listed";
import { Notice } from "../../kit/Notice";
import { Page } from "../../kit/Page";
import { EmptyState } from "../../kit/States";
import { Table } from "../../kit/Table";
import { BulkDialog, type BulkWish } from "./BulkDialog";
import { BulkProgress } from "./BulkProgress";
import { GROUP_COLUMNS, groupId, letterHref, LETTER_COLUMNS } from "./columns";
import { asked, causeOf, FILTER, said, type LetterFilter } from "./filter";
import styles from "./styles.module.css";

const NONE: LetterFilter = { kind: null, code: null, workflowId: null, stepId: null, taskId: null };

/** Attempts that were given up: by cause first, then one by one. Filter, view and a running operation are in the URL. */
export default function DeadLettersPage() {
  const search = useParameters();
  const [, setSearch] = useSearchParams();
  const filter = decode(FILTER, search);
  const operation = search.get("operation");
  const isRows = said(filter).length > 0 || search.get("view") === "all";
  const [wish, setWish] = useState<BulkWish | null>(null);
  const mayWrite = useMay("dead-letters:write");
  const set = (name: string, value: string | null) =>
    setSearch(() => {
      const next = new URLSearchParams(window.location.search);
      if (value === null) next.delete(name);
      else next.set(name, value);
      return next;
    });
  const bulk = (action: BulkWish["action"]) => setWish({ action, filter });
  return (
    <Page
      title="Dead letters"
      isFilled
      actions={
        mayWrite && (
          <>
            <Button icon={<Trash2 />} look="danger" onClick={() => bulk("discard")}>
              {said(filter).length > 0 ? "Discard these" : "Discard all"}
            </Button>
            <Button icon={<RotateCw />} onClick={() => bulk("retry")}>
              {said(filter).length > 0 ? "Retry these" : "Retry all"}
            </Button>
          </>
        )
      }
    >
      {operation !== null && <BulkProgress id={operation} onDismiss={() => set("operation", null)} />}
      <div className={styles["bar"]}>
        <nav aria-label="View" className={styles["views"]}>
          <Link href={link("/dead-letters", encode(FILTER, NONE, kept(search, null)))} className={styles["view"]} aria-current={isRows ? undefined : "page"}>
            By cause
          </Link>
          <Link href={link("/dead-letters", encode(FILTER, NONE, kept(search, "all")))} className={styles["view"]} aria-current={isRows && said(filter).length === 0 ? "page" : undefined}>
            One by one
          </Link>
        </nav>
        <ul className={styles["chips"]} aria-label="Filter">
          {said(filter).map(([field, name, value]) => (
            <li key={field} className={styles["chip"]}>
              <span>{name}</span> <b title={value}>{value === "" ? "none" : value}</b>
              <button type="button" aria-label={`Remove the filter by ${name}`} onClick={() => set(field, null)}>
                <X aria-hidden />
              </button>
            </li>
          ))}
        </ul>
      </div>
      {isRows ? <Letters filter={filter} onClear={() => setSearch(encode(FILTER, NONE, kept(search, "all")))} /> : <Causes />}
      {wish !== null && (
        <BulkDialog
          wish={wish}
          onClose={() => setWish(null)}
          onStarted={(id) => {
            setWish(null);
            set("operation", id);
          }}
        />
      )}
    </Page>
  );
}

/** The parameters that stay when the view changes: a running operation is shown in each. */
function kept(search: URLSearchParams, view: string | null): URLSearchParams {
  const next = new URLSearchParams();
  if (view !== null) next.set("view", view);
  const operation = search.get("operation");
  if (operation !== null) next.set("operation", operation);
  return next;
}

function Causes() {
  const groups = useQuery({ ...read("/api/v1/dead-letters/groups"), refetchInterval: LIST_REFRESH_MS });
  const search = useParameters();
  const list = { items: groups.data?.items ?? [], isPending: groups.isPending, error: groups.error, hasMore: false, refresh: () => void groups.refetch() };
  return (
    <Listed list={list} label="dead letters" empty={<Nothing />}>
      {groups.data?.isComplete === false && (
        <div className={styles["note"]}>
          <Notice tone="amber">There are more dead letters than are counted here: these are the newest. An action reaches all.</Notice>
        </div>
      )}
      <Table
        label="Dead letters by cause"
        columns={GROUP_COLUMNS}
        rows={list.items}
        idOf={groupId}
        rowHeight={52}
        hrefOf={(group) => link("/dead-letters", encode(FILTER, causeOf(group), kept(search, null)))}
        foot={<ListFoot list={list} one="cause" />}
      />
    </Listed>
  );
}

function Letters({ filter, onClear }: { filter: LetterFilter; onClear: () => void }) {
  const list = useList("/api/v1/dead-letters", { query: asked(filter) });
  const empty =
    said(filter).length === 0 ? (
      <Nothing />
    ) : (
      <EmptyState title="No dead letter matches" action={<Button onClick={onClear}>Show all</Button>}>
        Those that were there may have been retried or discarded meanwhile.
      </EmptyState>
    );
  return (
    <Listed list={list} label="dead letters" empty={empty}>
      <Table label="Dead letters" columns={LETTER_COLUMNS} rows={list.items} idOf={(row) => row.id} hrefOf={letterHref} onEnd={list.readMore} foot={<ListFoot list={list} one="dead letter" />} />
    </Listed>
  );
}

const Nothing = () => (
  <EmptyState title="There are no dead letters">An attempt that is given up appears here with its input and error: a task that ran out of attempts, a compensation that failed, a result that came too late.</EmptyState>
);
