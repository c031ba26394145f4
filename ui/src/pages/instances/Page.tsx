import { Ban, Download, ListChecks, Pause, Play, RotateCcw } from "lucide-react";
import { useCallback, useMemo, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { useQuery } from "@tanstack/react-query";

import { useMay } from "../../api/me";
import { read } from "../../api/queries";
import { count, counted } from "../../core/format";
import { readSearch } from "../../core/search";
import { decode, encode, INSTANCES } from "../../core/url";
import { Button } from "../../kit/Button";
import { useKeys } from "../../kit/keys";
import { Menu } from "../../kit/Menu";
import { Page } from "../../kit/Page";
import { ErrorState, Loading } from "../../kit/States";
import { Table } from "../../kit/Table";
import { toast } from "../../kit/toast";
import { BulkDialog } from "./BulkDialog";
import { ACTIONS, type BulkAction, type Scope } from "./bulk";
import { Chips } from "./Chips";
import { columnsOf, hrefOf } from "./columns";
import { knownFrom } from "./definitions";
import { asCsv, asJson, download } from "./exporting";
import { NothingFound, NothingYet } from "./Nothing";
import { meantId } from "./prefix";
import type { Row } from "./rows";
import { SearchBox } from "./SearchBox";
import styles from "./styles.module.css";
import { idsBeginning, useInstances } from "./useInstances";
import { focusedRow, useSelection } from "./useSelection";
import { Views } from "./Views";

const ICONS: Record<BulkAction, typeof Ban> = { retry: RotateCcw, pause: Pause, resume: Play, cancel: Ban };
const NO_DEFINITIONS: never[] = [];

/** Instances, newest first. The filter and the parents that are open are in the URL. */
export default function InstancesPage() {
  const [search, setSearch] = useSearchParams();
  const [, navigate] = useLocation();
  const q = search.get("q") ?? "";
  // "Since an hour ago" is measured from when it was asked.
  const asked = useMemo(() => readSearch(q, new Date()), [q]);
  const isReady = asked.problems.length === 0;
  const open = search.get("open") ?? "";
  const opened = useMemo(() => INSTANCES.open.read(open) ?? [], [open]);
  const list = useInstances(asked.params, isReady, opened);
  const toggle = useCallback(
    (id: string) =>
      setSearch(
        (before) => {
          const state = decode(INSTANCES, before);
          const others = state.open.filter((each) => each !== id);
          return encode(INSTANCES, { ...state, open: others.length < state.open.length ? others : [...others, id] }, before);
        },
        { replace: true },
      ),
    [setSearch],
  );
  const mayControl = useMay("instances:control");
  const mayReadWorkflows = useMay("workflows:read");
  const definitions = useQuery({ ...read("/api/v1/workflows", { query: { include: "definition", limit: 200 } }), enabled: mayReadWorkflows, staleTime: 60_000 });
  const known = useMemo(() => knownFrom(definitions.data?.items ?? NO_DEFINITIONS), [definitions.data]);
  const selection = useSelection(list.rows);
  const [acting, setActing] = useState<{ action: BulkAction; scope: Scope } | null>(null);

  const show = useCallback((next: string, isTyping = false) => setSearch(next === "" ? {} : { q: next }, { replace: isTyping }), [setSearch]);
  const openId = (text: string): boolean => {
    const meant = meantId(text);
    if (meant === null) return false;
    if (meant.kind === "id") {
      navigate(hrefOf({ id: meant.id }));
      return true;
    }
    void idsBeginning(meant)
      .catch(() => [])
      .then(([only, ...others]) => {
        if (only === undefined) show(text.trim());
        else if (others.length === 0) navigate(hrefOf({ id: only }));
        else show(`id:${[only, ...others].slice(0, 100).join(",")}`);
      });
    return true;
  };
  const scope: Scope = selection.ids.size > 0 ? { kind: "ids", ids: [...selection.ids] } : { kind: "filter", params: asked.params };
  const act = (action: BulkAction) => setActing({ action, scope });
  const fold = () => {
    const row = list.rows.find(({ key }) => key === focusedRow());
    if (row?.kind === "instance") toggle(row.item.id);
  };
  useKeys([
    ...(mayControl
      ? [
          { keys: "x", label: "Select the row", run: () => selection.toggle(focusedRow(), false) },
          { keys: "X", label: "Select as far as this row", run: () => selection.toggle(focusedRow(), true) },
        ]
      : []),
    { keys: "e", label: "Show or hide the children of the row", run: fold },
    ...(selection.ids.size > 0 ? [{ keys: "Escape", label: "Select nothing", run: selection.clear }] : []),
    ...(list.news > 0 ? [{ keys: ".", label: "Show new instances", run: list.readAgain }] : []),
  ]);
  const columns = useMemo(
    () => columnsOf({ known, rows: list.rows, selection: mayControl ? selection : null, onToggle: toggle }),
    [known, list.rows, mayControl, selection, toggle],
  );
  const save = (kind: "json" | "csv") => {
    const items = list.rows.flatMap((row) => (row.kind === "instance" ? [row.item] : []));
    download(`instances.${kind}`, kind === "json" ? "application/json" : "text/csv", kind === "json" ? asJson(items) : asCsv(items));
    toast({ text: `Exported ${counted(items.length, "instance")} of the list as far as it was read.` });
  };
  const actions = Object.entries(ACTIONS) as [BulkAction, (typeof ACTIONS)[BulkAction]][];
  return (
    <Page
      title="Instances"
      isFilled
      actions={
        <>
          <Views q={q} onChoose={show} />
          <Menu
            label="Export"
            trigger={<Button icon={<Download />}>Export</Button>}
            items={[
              { label: "This list as JSON", onSelect: () => save("json") },
              { label: "This list as CSV", onSelect: () => save("csv") },
            ]}
          />
          {mayControl && (
            <Menu
              label="Act on all that fit the filter"
              trigger={<Button icon={<ListChecks />}>Act on all…</Button>}
              items={actions.map(([action, { verb, isDanger }]) => {
                const Icon = ICONS[action];
                return { label: `${verb} all that fit…`, icon: <Icon />, isDanger, isDisabled: !isReady, onSelect: () => setActing({ action, scope: { kind: "filter", params: asked.params } }) };
              })}
            />
          )}
        </>
      }
    >
      <div className={styles["filter"]}>
        <SearchBox text={q} known={known.words} onApply={show} onId={openId} />
        <Chips text={q} params={asked.params} onChange={show} />
      </div>
      <div className={styles["list"]}>
        {list.news > 0 && (
          <button type="button" className={styles["news"]} onClick={list.readAgain}>
            {list.isMoreNews ? `${count(list.news)} or more new` : `${count(list.news)} new`}
          </button>
        )}
        {!isReady ? (
          <p className={styles["unread"]}>Correct the search above to see what it finds.</p>
        ) : list.isPending ? (
          <Loading label="Loading instances" />
        ) : list.error !== null && list.items.length === 0 ? (
          <ErrorState error={list.error} onRetry={list.readAgain} />
        ) : list.items.length === 0 ? (
          q === "" ? (
            <NothingYet />
          ) : (
            <NothingFound text={q} onChange={show} />
          )
        ) : (
          <Table<Row>
            label="Instances"
            columns={columns}
            rows={list.rows}
            idOf={(row) => row.key}
            hrefOf={(row) => hrefOf({ id: row.kind === "instance" ? row.item.id : row.parentId })}
            isSelected={(row) => row.kind === "instance" && selection.ids.has(row.item.id)}
            onVisible={list.onVisible}
            onEnd={list.readMore}
            scroll={list.scroll}
            foot={
              list.error !== null ? (
                <ErrorState isInline error={list.error} onRetry={list.readMore} />
              ) : (
                <p className={styles["foot"]}>{list.isWhole ? counted(list.items.length, "instance") : "Reading on…"}</p>
              )
            }
          />
        )}
      </div>
      {selection.ids.size > 0 && (
        <div className={styles["bar"]} role="region" aria-label="Selection">
          <b>{count(selection.ids.size)} selected</b>
          {actions.map(([action, { verb, isDanger }]) => {
            const Icon = ICONS[action];
            return (
              <Button key={action} icon={<Icon />} look={isDanger ? "danger" : "plain"} onClick={() => act(action)}>
                {verb}…
              </Button>
            );
          })}
          <Button look="quiet" onClick={selection.clear}>
            Select nothing
          </Button>
        </div>
      )}
      {acting !== null && <BulkDialog {...acting} onClose={() => setActing(null)} onBegun={selection.clear} />}
    </Page>
  );
}

