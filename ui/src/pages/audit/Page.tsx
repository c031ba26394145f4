import { Download, ShieldCheck } from "lucide-react";
import { useEffect, useState } from "react";
import { useSearchParams } from "wouter";

import { fileOf, send, useAct, useList } from "../../api/queries";
import type { Shape } from "../../api/types";
import { count } from "../../core/format";
import { useParameters } from "../../kit/address";
import { Button } from "../../kit/Button";
import { Committed } from "../../kit/Committed";
import { Filter, Filters } from "../../kit/Filters";
import { ListFoot, Listed } from "../../kit/Listed";
import { Moment } from "../../kit/Moment";
import { Notice } from "../../kit/Notice";
import { Page } from "../../kit/Page";
import { Select } from "../../kit/Select";
import { EmptyState, ErrorState } from "../../kit/States";
import { StatusBadge } from "../../kit/StatusBadge";
import { Table, type Column } from "../../kit/Table";
import { serviceNow } from "../../state/clock";
import { LineDialog } from "./LineDialog";
import { SPANS, spanStart } from "./spans";
import styles from "./styles.module.css";

type Line = Shape<"AuditLine">;

const TEXTS = [
  ["actor", "Actor", "ops"],
  ["action", "Action", "start_workflow"],
  ["target", "Object", "/api/v1/keys"],
] as const;

/** Who asked for which change and what became of it, newest first. The filter and the chosen line are in the URL. */
export default function AuditPage() {
  const search = useParameters();
  const [, setSearch] = useSearchParams();
  const set = (name: string, value: string) =>
    setSearch(
      () => {
        const next = new URLSearchParams(window.location.search);
        if (value === "") next.delete(name);
        else next.set(name, value);
        return next;
      },
      { replace: true },
    );
  const span = search.get("within") ?? "";
  // Fixed while the span stays chosen: a moment that moves on would make every read another list.
  const [since, setSince] = useState(() => spanStart(span, serviceNow()));
  useEffect(() => setSince(spanStart(span, serviceNow())), [span]);
  const given = Object.fromEntries(TEXTS.flatMap(([name]) => (search.get(name) ? [[name, search.get(name)]] : [])));
  const list = useList("/api/v1/audit", { query: { ...given, ...(since === null ? {} : { since }) } });
  const isNarrowed = Object.keys(given).length > 0 || since !== null;
  const chosen = Number(search.get("line") ?? NaN);
  return (
    <Page title="Audit" isFilled actions={<Actions />}>
      <Filters label="Filter of the audit log">
        {TEXTS.map(([name, label, example]) => (
          <Filter key={name} label={label}>
            <Committed value={search.get(name) ?? ""} placeholder={example} onCommit={(value) => set(name, value)} />
          </Filter>
        ))}
        <Filter label="Within">
          <Select value={span} options={SPANS} onChange={(event) => set("within", event.target.value)} />
        </Filter>
      </Filters>
      <Listed
        list={list}
        label="the audit log"
        empty={
          isNarrowed ? (
            <EmptyState title="No line matches" action={<Button onClick={() => setSearch({})}>Clear the filter</Button>}>
              Actors, actions and objects are compared as a whole: the name of a key, the name of an operation, the path of a request.
            </EmptyState>
          ) : (
            <EmptyState title="Nothing was asked for yet">Every change that is asked for, and every refusal, becomes a line here.</EmptyState>
          )
        }
      >
        <Table
          label="Audit log"
          columns={columnsOf(set)}
          rows={list.items}
          idOf={(row) => String(row.number)}
          isSelected={(row) => row.number === chosen}
          onEnd={list.readMore}
          foot={<ListFoot list={list} one="line" />}
        />
      </Listed>
      {Number.isInteger(chosen) && <LineDialog number={chosen} list={list} onClose={() => set("line", "")} />}
    </Page>
  );
}

function columnsOf(set: (name: string, value: string) => void): readonly Column<Line>[] {
  return [
    { id: "at", title: "Time", width: "140px", narrow: "62px", cell: ({ at }) => <Moment at={at} /> },
    { id: "actor", title: "Actor", width: "minmax(90px, 1fr)", narrow: "minmax(0, 0.6fr)", cell: ({ actor, credential }) => <span title={credential ?? undefined}>{actor}</span> },
    {
      id: "action",
      title: "Action",
      width: "minmax(120px, 1.2fr)",
      narrow: "minmax(0, 1.4fr)",
      cell: ({ action, number }) => (
        <button type="button" className={styles["open"]} aria-label={`${action}, line ${number}`} onClick={() => set("line", String(number))}>
          {action}
        </button>
      ),
    },
    { id: "target", title: "Object", width: "minmax(160px, 2.4fr)", isMinor: true, cell: ({ target }) => <span className={styles["path"]} title={target}>{target}</span> },
    { id: "outcome", title: "Outcome", width: "110px", narrow: "76px", cell: ({ outcome }) => <StatusBadge status={outcome} look="plain" /> },
    { id: "source", title: "From", width: "minmax(90px, 0.8fr)", isMinor: true, cell: ({ source }) => source },
    { id: "number", title: "Line", width: "70px", align: "end", isMinor: true, cell: ({ number }) => count(number) },
  ];
}

function Actions() {
  const verify = useAct(() => send("get", "/api/v1/audit/verify"));
  const save = useAct(async () => {
    const url = URL.createObjectURL(await fileOf("/api/v1/audit/export"));
    const link = document.createElement("a");
    link.href = url;
    link.download = "audit.ndjson";
    link.click();
    URL.revokeObjectURL(url);
  });
  const verdict = verify.data;
  return (
    <div className={styles["actions"]}>
      {verdict !== undefined && (
        <div role="status">
          {verdict.problem === null ? (
            <Notice tone="green">
              {`All ${count(verdict.lines)} lines are as they were written. The last hash is `}
              <code title={verdict.hash}>{verdict.hash.slice(0, 12)}</code>
            </Notice>
          ) : (
            <Notice tone="red">
              <code>{verdict.problem.code}</code> {`The chain is broken at line ${count(verdict.problem.number)}: ${verdict.problem.message}`}
            </Notice>
          )}
        </div>
      )}
      {(verify.error ?? save.error) !== null && <ErrorState isInline error={verify.error ?? save.error} />}
      <Button icon={<Download />} isPending={save.isPending} onClick={() => save.mutate(undefined)}>
        Export
      </Button>
      <Button icon={<ShieldCheck />} isPending={verify.isPending} onClick={() => verify.mutate(undefined)}>
        Verify the chain
      </Button>
    </div>
  );
}
