import { useQuery } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight, Pencil, Trash2, Upload } from "lucide-react";
import { useMemo, useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";

import { useMay } from "../../api/me";
import { read, send, useAct } from "../../api/queries";
import type { Shape } from "../../api/types";
import { calendarDraftOf, dayWords, exceptions, monthsOf, weekWords } from "../../core/calendar";
import { counted } from "../../core/format";
import { path } from "../../core/url";
import { useLastPart } from "../../kit/address";
import { Button, IconButton } from "../../kit/Button";
import { Confirm } from "../../kit/Confirm";
import { Facts } from "../../kit/Facts";
import { visible } from "../../kit/JsonView";
import { useKeys } from "../../kit/keys";
import { Moment } from "../../kit/Moment";
import { Page, Section } from "../../kit/Page";
import { Stack } from "../../kit/Stack";
import { ErrorState, Loading } from "../../kit/States";
import { toast } from "../../kit/toast";
import { serviceNow } from "../../state/clock";
import { Calculator } from "./Calculator";
import { CalendarDialog } from "./CalendarDialog";
import { ImportDialog } from "./ImportDialog";
import styles from "./styles.module.css";
import { YearView } from "./YearView";

type Calendar = Shape<"SavedCalendar">;

const CRUMBS = [{ label: "Calendars", href: "/calendars" }];
const [FIRST_YEAR, LAST_YEAR] = [1971, 2199];

/** One calendar: its year day by day, a calculator, and who counts with it. The year is in the URL. */
export default function CalendarPage() {
  const id = useLastPart();
  const found = useQuery(read("/api/v1/calendars/{id}", { path: { id }, query: { include: "uses" } }));
  const calendar = found.data;
  if (calendar === undefined) {
    return (
      <Page title={id} crumbs={CRUMBS}>
        {found.isPending ? <Loading label="Loading the calendar" /> : <ErrorState error={found.error} onRetry={() => void found.refetch()} />}
      </Page>
    );
  }
  return (
    <Page title={`${calendar.name || calendar.id} · Calendar`} heading={visible(calendar.name || calendar.id)} crumbs={CRUMBS} actions={<Actions calendar={calendar} />}>
      <Section>
        <About calendar={calendar} />
      </Section>
      <Year id={calendar.id} version={calendar.version} />
      <Section title="Calculate">
        <Stack>
          <Calculator id={calendar.id} />
        </Stack>
      </Section>
    </Page>
  );
}

function Actions({ calendar }: { calendar: Calendar }) {
  const [dialog, setDialog] = useState<"edit" | "import" | "remove" | null>(null);
  const [, navigate] = useLocation();
  const mayWrite = useMay("schedules:write");
  useKeys(mayWrite ? [{ keys: "e", label: "Edit the calendar", run: () => setDialog("edit") }] : []);
  const remove = useAct(
    () => send("delete", "/api/v1/calendars/{id}", { path: { id: calendar.id } }),
    () => {
      toast({ text: "The calendar is removed" });
      navigate("/calendars");
    },
  );
  if (!mayWrite) return null;
  const close = () => setDialog(null);
  return (
    <>
      <Button icon={<Trash2 />} look="danger" onClick={() => setDialog("remove")}>
        Remove
      </Button>
      <Button icon={<Upload />} onClick={() => setDialog("import")}>
        Import
      </Button>
      <Button icon={<Pencil />} look="primary" onClick={() => setDialog("edit")}>
        Edit
      </Button>
      {dialog === "edit" && <CalendarDialog calendar={calendar} onClose={close} />}
      {dialog === "import" && <ImportDialog id={calendar.id} onClose={close} />}
      {dialog === "remove" && (
        <Confirm title="Remove the calendar" action="Remove" isDanger isPending={remove.isPending} error={remove.error} onClose={close} onConfirm={() => remove.mutate(undefined)}>
          <p>What has begun with it goes on with its version. A calendar that something names is not removed: the refusal says by what.</p>
        </Confirm>
      )}
    </>
  );
}

function About({ calendar }: { calendar: Calendar }) {
  const uses = calendar.usedBy;
  const links = (names: readonly string[] | undefined, folder: string) =>
    names === undefined || names.length === 0 ? null : (
      <span className={styles["links"]}>
        {names.map((name) => (
          <Link key={name} href={path(folder, name)}>
            {visible(name)}
          </Link>
        ))}
      </span>
    );
  const isUnused = uses != null && [uses.schedules, uses.calendars, uses.workflows].every((each) => (each ?? []).length === 0);
  return (
    <Facts
      facts={[
        ["Time zone", calendar.timezone ?? (calendar.extends == null ? "UTC" : "inherited")],
        ["Working hours", weekWords(calendar.week)],
        ["Holidays of", calendarDraftOf(calendar).holidays],
        ["Extends", calendar.extends == null ? null : links([calendar.extends], "calendars")],
        ["Used by schedules", links(uses?.schedules, "schedules")],
        ["Used by workflows", links(uses?.workflows, "workflows")],
        ["Extended by", links(uses?.calendars, "calendars")],
        ["Used by", isUnused ? "nothing yet" : null],
        ["Version", String(calendar.version)],
        ["Changed", <Moment key="" at={calendar.metadata.lastModifiedAt} />],
        ["Description", calendar.metadata.description],
        ["Id", <code key="">{calendar.id}</code>],
      ]}
    />
  );
}

function Year({ id, version }: { id: string; version: number }) {
  const [search, setSearch] = useSearchParams();
  const now = new Date(serviceNow()).getUTCFullYear();
  const asked = Number(search.get("year") ?? now);
  const year = Number.isInteger(asked) && asked >= FIRST_YEAR && asked <= LAST_YEAR ? asked : now;
  const days = useQuery(read("/api/v1/calendars/{id}/days", { path: { id }, query: { from: `${year}-01-01`, to: `${year}-12-31` } }));
  // A new version has other days.
  const { refetch } = days;
  const [shownVersion, setShownVersion] = useState(version);
  if (shownVersion !== version) {
    setShownVersion(version);
    void refetch();
  }
  const months = useMemo(() => monthsOf(days.data?.items ?? []), [days.data]);
  const others = useMemo(() => exceptions(days.data?.items ?? []), [days.data]);
  const total = months.reduce((sum, { workingDays }) => sum + workingDays, 0);
  const go = (next: number) => setSearch(next === now ? {} : { year: String(next) });
  return (
    <Section
      title={`${year}${days.data === undefined ? "" : `: ${counted(total, "working day")}`}`}
      actions={
        <span className={styles["years"]}>
          <IconButton label="The year before" icon={<ChevronLeft />} disabled={year <= FIRST_YEAR} onClick={() => go(year - 1)} />
          <IconButton label="The year after" icon={<ChevronRight />} disabled={year >= LAST_YEAR} onClick={() => go(year + 1)} />
        </span>
      }
    >
      {days.data === undefined ? (
        days.error === null ? (
          <Loading label="Loading the days" />
        ) : (
          <ErrorState isInline error={days.error} onRetry={() => void refetch()} />
        )
      ) : (
        <Stack>
          <YearView months={months} />
          {others.length > 0 && (
            <details className={styles["others"]} open={others.length <= 20}>
              <summary>{counted(others.length, "holiday or date of its own", "holidays and dates of its own")}</summary>
              <ul className={styles["counted"]}>
                {others.map((day) => (
                  <li key={day.date}>
                    <code>{day.date}</code> {visible(dayWords(day))}
                  </li>
                ))}
              </ul>
            </details>
          )}
        </Stack>
      )}
    </Section>
  );
}
