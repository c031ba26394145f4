import { useQuery } from "@tanstack/react-query";
import { Play, Search } from "lucide-react";
import { useEffect, useMemo } from "react";
import { Link, useLocation, useSearchParams } from "wouter";

import { useHas, useMay } from "../../api/me";
import { read, useList } from "../../api/queries";
import type { Shape } from "../../api/types";
import { factsOf, type DefinitionFacts } from "../../core/definition";
import { counted } from "../../core/format";
import { asObject, asText } from "../../core/json";
import { IconButton } from "../../kit/Button";
import { Page } from "../../kit/Page";
import { EmptyState, ErrorState, Loading } from "../../kit/States";
import { Table, type Column } from "../../kit/Table";
import { Counts } from "./Counts";
import { startHref, workflowHref } from "./links";
import styles from "./styles.module.css";
import { Thumbnail } from "./Thumbnail";
import { Ticks } from "./Ticks";

const COUNTED_HOURS = 168;

interface Row {
  item: Shape<"WorkflowItem">;
  facts: DefinitionFacts;
  byStatus: Record<string, number> | undefined;
  /** In words, those that start it. */
  schedules: readonly string[];
}

/** Every workflow: what it looks like, how its last instances went, what starts it. */
export default function WorkflowsPage() {
  const [search, setSearch] = useSearchParams();
  const wanted = search.get("q") ?? "";
  const list = useList("/api/v1/workflows", { query: { include: "definition" } });
  const mayCount = useMay("stats:read");
  const schedules = useSchedules();
  const mayStart = useMay("instances:start");
  const stats = useQuery({ ...read("/api/v1/stats", { query: { hours: COUNTED_HOURS } }), enabled: mayCount, refetchInterval: 10_000 });
  const facts = useFacts(list.items);
  const rows = useMemo(() => {
    const counts = new Map(stats.data?.byWorkflow.map((each) => [each.workflowId, each.byStatus]));
    const all = list.items.map((item): Row => ({ item, facts: facts(item), byStatus: counts.get(item.id), schedules: schedules.get(item.id) ?? [] }));
    return all.filter((row) => isWanted(row, wanted));
  }, [list.items, stats.data, wanted, facts, schedules]);
  useEffect(() => {
    // What is searched for may be further down.
    if (wanted !== "" && list.hasMore) list.readMore();
  });
  const mayRead = useMay("instances:read");
  const columns = useMemo(() => columnsOf({ mayCount, mayRead, mayStart }), [mayCount, mayRead, mayStart]);
  return (
    <Page
      title="Workflows"
      isFilled
      actions={
        <label className={styles["search"]}>
          <Search aria-hidden />
          <input
            type="search"
            placeholder="Name, id, event or task"
            aria-label="Search workflows"
            value={wanted}
            onChange={({ target }) => setSearch(target.value === "" ? {} : { q: target.value }, { replace: true })}
          />
        </label>
      }
    >
      {list.isPending ? (
        <Loading label="Loading workflows" />
      ) : list.error !== null && list.items.length === 0 ? (
        <ErrorState error={list.error} onRetry={list.refresh} />
      ) : list.items.length === 0 ? (
        <EmptyState title="No workflow is deployed yet" command="tenuto deploy order.json">
          A workflow is a definition in JSON, YAML or Python. It appears here as soon as it is deployed; <code>tenuto init</code> writes one to begin with.
        </EmptyState>
      ) : rows.length === 0 && !list.hasMore ? (
        <EmptyState title={`No workflow fits “${wanted}”`}>Names, ids, descriptions, events and tasks are searched.</EmptyState>
      ) : (
        <Table
          label="Workflows"
          columns={columns}
          rows={rows}
          rowHeight={60}
          idOf={({ item }) => item.id}
          hrefOf={({ item }) => workflowHref(item.id)}
          onEnd={list.readMore}
          foot={<p className={styles["foot"]}>{list.hasMore ? "Reading on…" : counted(rows.length, "workflow")}</p>}
        />
      )}
    </Page>
  );
}

/** The facts of each version, worked out once. */
function useFacts(items: readonly Shape<"WorkflowItem">[]): (item: Shape<"WorkflowItem">) => DefinitionFacts {
  const known = useMemo(() => new Map<string, DefinitionFacts>(), []);
  return useMemo(() => {
    return (item) => {
      const key = `${item.version} ${item.id}`;
      const found = known.get(key) ?? factsOf(item.definition);
      known.set(key, found);
      return found;
    };
    // eslint-disable-next-line -- new items may be new versions
  }, [items, known]);
}

function isWanted({ item, facts }: Row, wanted: string): boolean {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const texts = [item.id, item.name ?? "", item.description ?? "", ...facts.events.map(({ pattern }) => pattern), ...facts.tasks].map((text) => text.toLowerCase());
  return words.every((word) => texts.some((text) => text.includes(word)));
}

function columnsOf({ mayCount, mayRead, mayStart }: { mayCount: boolean; mayRead: boolean; mayStart: boolean }): readonly Column<Row>[] {
  const columns: (Column<Row> | false)[] = [
    { id: "shape", title: "", width: "140px", isMinor: true, cell: ({ facts }) => <Thumbnail graph={facts.graph} /> },
    { id: "name", title: "Workflow", width: "minmax(180px, 2fr)", cell: (row) => <Name {...row} /> },
    { id: "version", title: "Version", width: "64px", cell: ({ item }) => `v${item.version}` },
    { id: "triggers", title: "Started by", width: "minmax(110px, 1fr)", isMinor: true, cell: (row) => <Triggers {...row} /> },
    mayRead && { id: "last", title: "Last instances", width: "172px", isMinor: true, cell: ({ item }) => <Ticks workflow={item.id} /> },
    mayCount && { id: "counts", title: "In 7 days", width: "minmax(120px, 1fr)", isMinor: true, cell: ({ item, byStatus }) => <Counts workflow={item.id} byStatus={byStatus} /> },
    mayStart && { id: "start", title: "", width: "32px", align: "end", cell: ({ item }) => <StartLink id={item.id} /> },
  ];
  return columns.filter((column) => column !== false);
}

function Name({ item }: Row) {
  const title = item.name ?? item.id;
  const about = [item.name === null || item.name === item.id ? "" : item.id, item.description ?? ""].filter(Boolean).join(" · ");
  return (
    <>
      <Link href={workflowHref(item.id)} className={styles["name"]}>
        {title}
      </Link>
      {about !== "" && <div className={styles["about"]}>{about}</div>}
    </>
  );
}

function Triggers({ facts, schedules }: Row) {
  const patterns = facts.events.filter(({ does }) => does === "starts").map(({ pattern }) => pattern);
  if (patterns.length === 0 && schedules.length === 0) return <span className={styles["muted"]}>A call</span>;
  return (
    <span title={[...patterns, ...schedules].join("\n")}>
      {patterns.length > 0 && <code>{patterns.join(", ")}</code>}
      {patterns.length > 0 && schedules.length > 0 && "; "}
      {schedules.join("; ")}
    </span>
  );
}

const MOST_SCHEDULES = 500;
const NO_SCHEDULES: ReadonlyMap<string, readonly string[]> = new Map();

/** By workflow, when its schedules start it. */
function useSchedules(): ReadonlyMap<string, readonly string[]> {
  const mayRead = useMay("schedules:read");
  const hasSchedules = useHas("schedules");
  const found = useQuery({ ...read("/api/v1/schedules", { query: { limit: MOST_SCHEDULES } }), enabled: mayRead && hasSchedules, staleTime: 10_000 });
  return useMemo(() => {
    if (found.data === undefined) return NO_SCHEDULES;
    const starts = new Map<string, string[]>();
    for (const { target, inWords, status } of found.data.items) {
      const workflow = asText(asObject(target)["workflowId"]);
      if (workflow !== null) starts.set(workflow, [...(starts.get(workflow) ?? []), status === "active" ? inWords : `${inWords} (${status})`]);
    }
    return starts;
  }, [found.data]);
}

function StartLink({ id }: { id: string }) {
  const [, navigate] = useLocation();
  return <IconButton label={`Start ${id}`} icon={<Play />} onClick={() => navigate(startHref(id))} />;
}
