import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { Link, useSearchParams } from "wouter";

import { useMay } from "../../api/me";
import { LIST_REFRESH_MS, read, useList } from "../../api/queries";
import { Button } from "../../kit/Button";
import { Filter, Filters } from "../../kit/Filters";
import { useKeys } from "../../kit/keys";
import { ListFoot, Listed } from "../../kit/Listed";
import { Moment } from "../../kit/Moment";
import { Page } from "../../kit/Page";
import { Select } from "../../kit/Select";
import { EmptyState } from "../../kit/States";
import { StatusBadge } from "../../kit/StatusBadge";
import { Table, type Column } from "../../kit/Table";
import { visible } from "../../kit/JsonView";
import { scheduleHref, targetOf, type Schedule } from "./links";
import { ScheduleDialog } from "./ScheduleDialog";
import styles from "./styles.module.css";
import { TickStrip } from "./TickStrip";
import { useStatuses } from "./useStatuses";

const STATUSES = [
  ["", "Any"],
  ["active", "Active"],
  ["paused", "Paused"],
  ["error", "In error"],
  ["completed", "Completed"],
] as const;
const MOST_MARKS = 8;
const NONE: never[] = [];

const COLUMNS: readonly Column<Schedule>[] = [
  { id: "status", title: "Status", width: "110px", cell: ({ status }) => <StatusBadge status={status} look="plain" /> },
  {
    id: "name",
    title: "Schedule",
    width: "minmax(120px, 1.2fr)",
    cell: ({ id, name }) => (
      <Link href={scheduleHref(id)} title={id}>
        {visible(name || id)}
      </Link>
    ),
  },
  { id: "when", title: "When", width: "minmax(180px, 3fr)", isMinor: true, cell: (row) => <When schedule={row} /> },
  { id: "target", title: "Starts", width: "minmax(90px, 1fr)", isMinor: true, cell: (row) => <Target schedule={row} /> },
  { id: "next", title: "Next", width: "130px", cell: ({ nextExecution }) => <Moment at={nextExecution} /> },
  { id: "ticks", title: "Last ticks", width: "216px", isMinor: true, cell: ({ id }) => <LastTicks id={id} /> },
];

/** When what is started: the words of each schedule, its next time, and what became of its last ones. */
export default function SchedulesPage() {
  const [search, setSearch] = useSearchParams();
  const status = STATUSES.find(([value]) => value === search.get("status"))?.[0] ?? "";
  const workflowId = search.get("workflow") ?? "";
  const list = useList("/api/v1/schedules", {
    query: { limit: 100, ...(status === "" ? {} : { status }), ...(workflowId === "" ? {} : { workflowId }) },
  });
  const mayWrite = useMay("schedules:write");
  const [isCreating, setIsCreating] = useState(false);
  useKeys(mayWrite ? [{ keys: "n", label: "Create a schedule", run: () => setIsCreating(true) }] : []);
  const set = (name: string, value: string) =>
    setSearch((before) => {
      const next = new URLSearchParams(before);
      if (value === "") next.delete(name);
      else next.set(name, value);
      return next;
    });
  const create = mayWrite && (
    <Button look="primary" icon={<Plus />} onClick={() => setIsCreating(true)}>
      Create schedule
    </Button>
  );
  const isFiltered = status !== "" || workflowId !== "";
  return (
    <Page title="Schedules" isFilled actions={create}>
      <Filters
        label="Filter schedules"
        end={
          workflowId !== "" && (
            <Button look="quiet" onClick={() => set("workflow", "")}>
              Only those of {visible(workflowId)}: show all
            </Button>
          )
        }
      >
        <Filter label="Status">
          <Select options={STATUSES} value={status} onChange={({ target }) => set("status", target.value)} />
        </Filter>
      </Filters>
      <Listed
        list={list}
        label="schedules"
        empty={
          isFiltered ? (
            <EmptyState title="No schedule fits the filter" action={<Button onClick={() => setSearch({})}>Show all schedules</Button>} />
          ) : (
            <EmptyState title="There is no schedule" action={create} command="tenuto schedules add --cron '0 9 * * *' --workflow order">
              A schedule starts a workflow, a task or a callback at its times, once each, whatever crashes in between.
            </EmptyState>
          )
        }
      >
        <Table label="Schedules" columns={COLUMNS} rows={list.items} idOf={({ id }) => id} hrefOf={({ id }) => scheduleHref(id)} onEnd={list.readMore} foot={<ListFoot list={list} one="schedule" />} />
      </Listed>
      {isCreating && <ScheduleDialog onClose={() => setIsCreating(false)} {...(workflowId === "" ? {} : { workflow: workflowId })} />}
    </Page>
  );
}

/** When it fires; of one that does not, why. */
function When({ schedule }: { schedule: Schedule }) {
  const why = schedule.status === "error" ? schedule.problem : schedule.status === "paused" ? schedule.note : null;
  return (
    <span title={[schedule.inWords, why].filter(Boolean).join(" · ")}>
      {visible(schedule.inWords)}
      {why != null && why !== "" && <span className={schedule.status === "error" ? styles["bad"] : styles["muted"]}> · {visible(why)}</span>}
    </span>
  );
}

function Target({ schedule }: { schedule: Schedule }) {
  const { kind, name, href } = targetOf(schedule);
  return (
    <span title={`${kind} ${name}`} className={styles["inText"]}>
      {href === null ? visible(name) : <Link href={href}>{visible(name)}</Link>}
      {kind !== "workflow" && <span className={styles["muted"]}> {kind}</span>}
    </span>
  );
}

function LastTicks({ id }: { id: string }) {
  const ticks = useQuery({ ...read("/api/v1/schedules/{id}/ticks", { path: { id }, query: { limit: MOST_MARKS } }), refetchInterval: LIST_REFRESH_MS });
  const statuses = useStatuses(ticks.data?.items ?? NONE);
  return ticks.data === undefined ? null : <TickStrip label={`Ticks of ${id}`} ticks={ticks.data.items} statuses={statuses} />;
}
