import { Plus } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";

import { useMay } from "../../api/me";
import { useList } from "../../api/queries";
import type { Shape } from "../../api/types";
import { calendarDraftOf, weekWords } from "../../core/calendar";
import { count } from "../../core/format";
import { path } from "../../core/url";
import { Button } from "../../kit/Button";
import { visible } from "../../kit/JsonView";
import { useKeys } from "../../kit/keys";
import { ListFoot, Listed } from "../../kit/Listed";
import { Moment } from "../../kit/Moment";
import { Page } from "../../kit/Page";
import { EmptyState } from "../../kit/States";
import { Table, type Column } from "../../kit/Table";
import { CalendarDialog } from "./CalendarDialog";

type Calendar = Shape<"SavedCalendar">;

const hrefOf = ({ id }: Pick<Calendar, "id">): string => path("calendars", id);

const COLUMNS: readonly Column<Calendar>[] = [
  { id: "name", title: "Calendar", width: "minmax(120px, 1.2fr)", cell: (row) => <Link href={hrefOf(row)}>{visible(row.name || row.id)}</Link> },
  { id: "zone", title: "Time zone", width: "minmax(110px, 1fr)", cell: ({ timezone, extends: base }) => timezone ?? (base == null ? "UTC" : "inherited") },
  { id: "week", title: "Working hours", width: "minmax(160px, 1.6fr)", isMinor: true, cell: ({ week }) => <span title={weekWords(week)}>{weekWords(week)}</span> },
  { id: "holidays", title: "Holidays of", width: "minmax(80px, 0.8fr)", isMinor: true, cell: (row) => calendarDraftOf(row).holidays || "–" },
  { id: "dates", title: "Own dates", width: "90px", align: "end", isMinor: true, cell: ({ dates }) => count(dates.length) },
  { id: "extends", title: "Extends", width: "minmax(80px, 0.8fr)", isMinor: true, cell: ({ extends: base }) => (base == null ? "–" : <Link href={hrefOf({ id: base })}>{visible(base)}</Link>) },
  { id: "changed", title: "Changed", width: "130px", isMinor: true, cell: ({ metadata }) => <Moment at={metadata.lastModifiedAt} /> },
];

/** Calendars of working time, which schedules and durations name. */
export default function CalendarsPage() {
  const list = useList("/api/v1/calendars", { query: { limit: 100 } });
  const mayWrite = useMay("schedules:write");
  const [isCreating, setIsCreating] = useState(false);
  useKeys(mayWrite ? [{ keys: "n", label: "Create a calendar", run: () => setIsCreating(true) }] : []);
  const create = mayWrite && (
    <Button look="primary" icon={<Plus />} onClick={() => setIsCreating(true)}>
      Create calendar
    </Button>
  );
  return (
    <Page title="Calendars" isFilled actions={create}>
      <Listed
        list={list}
        label="calendars"
        empty={
          <EmptyState title="There is no calendar" action={create} command="tenuto calendars --help">
            A calendar says which hours and days are working time. Schedules, delays, time-outs and deadlines that name it count that time alone.
          </EmptyState>
        }
      >
        <Table label="Calendars" columns={COLUMNS} rows={list.items} idOf={({ id }) => id} hrefOf={hrefOf} onEnd={list.readMore} foot={<ListFoot list={list} one="calendar" />} />
      </Listed>
      {isCreating && <CalendarDialog onClose={() => setIsCreating(false)} />}
    </Page>
  );
}
