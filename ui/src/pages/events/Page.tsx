import { Filter, Send } from "lucide-react";
import { useId, useMemo, useRef, useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";

import { useInbox, useIsTold } from "../../api/liveHooks";
import { useMay } from "../../api/me";
import { LIST_REFRESH_MS, TOLD_REFRESH_MS, useListEvery } from "../../api/queries";
import type { Shape } from "../../api/types";
import { counted } from "../../core/format";
import { Button } from "../../kit/Button";
import { useKeys } from "../../kit/keys";
import { Moment } from "../../kit/Moment";
import { Page } from "../../kit/Page";
import { EmptyState, ErrorState, Loading } from "../../kit/States";
import { Table, type Column } from "../../kit/Table";
import { visible } from "../../kit/JsonView";
import { serviceNow } from "../../state/clock";
import { eventHref, publishHref } from "./links";
import { useKnownPatterns } from "./patterns";
import styles from "./styles.module.css";

type Event = Shape<"EventItem">;

const DAY = 86_400_000;
/** How far back the list goes, in days; null: to the beginning. */
const RANGES: Record<string, { label: string; days: number | null }> = {
  "1d": { label: "Last 24 hours", days: 1 },
  "7d": { label: "Last 7 days", days: 7 },
  "30d": { label: "Last 30 days", days: 30 },
  all: { label: "All times", days: null },
};
const USUAL = "1d";

const COLUMNS: readonly Column<Event>[] = [
  { id: "received", title: "Received", width: "130px", cell: ({ receivedAt }) => <Moment at={receivedAt} /> },
  {
    id: "pattern",
    title: "Event",
    width: "minmax(140px, 1fr)",
    cell: ({ eventId, pattern }) => (
      <Link href={eventHref(eventId)} className={styles["pattern"]}>
        {pattern}
      </Link>
    ),
  },
  { id: "id", title: "Id", width: "minmax(120px, 1fr)", isMinor: true, cell: ({ eventId }) => <code>{eventId}</code> },
  { id: "correlation", title: "Correlation id", width: "120px", isMinor: true, cell: ({ correlationId }) => (correlationId === null ? "–" : <code>{correlationId}</code>) },
  { id: "payload", title: "Payload", width: "minmax(160px, 2fr)", isMinor: true, cell: ({ payload }) => <code className={styles["muted"]}>{preview(payload)}</code> },
];

/** The inbox, newest first. Filter and range are in the URL. */
export default function EventsPage() {
  const [search, setSearch] = useSearchParams();
  const pattern = search.get("pattern") ?? "";
  const range = Object.hasOwn(RANGES, search.get("since") ?? "") ? (search.get("since") ?? USUAL) : USUAL;
  const since = useMemo(() => sinceOf(range), [range]);
  const isTold = useIsTold();
  const list = useListEvery(isTold ? TOLD_REFRESH_MS : LIST_REFRESH_MS, "/api/v1/events", { query: { order: "desc", ...(pattern === "" ? {} : { pattern }), ...(since === null ? {} : { since }) } });
  useInbox(list.freshen);
  const mayPublish = useMay("events:publish");
  const [, navigate] = useLocation();
  const publish = () => navigate(pattern === "" ? "/events/publish" : publishHref({ pattern }));
  useKeys(mayPublish ? [{ keys: "p", label: "Publish an event", run: publish }] : []);
  const held = useHeld(list.items);
  const set = (name: string, value: string, usual: string) =>
    setSearch((before) => {
      const next = new URLSearchParams(before);
      if (value === usual) next.delete(name);
      else next.set(name, value);
      return next;
    });
  return (
    <Page
      title="Events"
      isFilled
      actions={
        <>
          <PatternFilter key={pattern} pattern={pattern} onChange={(next) => set("pattern", next, "")} />
          <select className={styles["select"]} aria-label="Received" value={range} onChange={({ target }) => set("since", target.value, USUAL)}>
            {Object.entries(RANGES).map(([value, { label }]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
          {mayPublish && (
            <Button look="primary" icon={<Send />} onClick={publish}>
              Publish
            </Button>
          )}
        </>
      }
    >
      {list.isPending ? (
        <Loading label="Loading events" />
      ) : list.error !== null && list.items.length === 0 ? (
        <ErrorState error={list.error} onRetry={list.refresh} />
      ) : list.items.length === 0 ? (
        <Nothing pattern={pattern} range={range} onClear={() => setSearch({})} />
      ) : (
        <div className={styles["inbox"]} ref={held.ref} onScrollCapture={held.onScroll}>
          {held.fresh > 0 && (
            <Button className={styles["fresh"] ?? ""} onClick={held.release}>
              {counted(held.fresh, "new event")}
            </Button>
          )}
          <Table
            label="Events"
            columns={COLUMNS}
            rows={held.rows}
            idOf={({ eventId }) => eventId}
            hrefOf={({ eventId }) => eventHref(eventId)}
            onEnd={list.readMore}
            foot={<p className={styles["foot"]}>{list.hasMore ? "Reading on…" : `${counted(list.items.length, "event")}, ${RANGES[range]?.label.toLowerCase() ?? ""}`}</p>}
          />
        </div>
      )}
    </Page>
  );
}

/** The moment is that of the choice, so that pages of one list belong together. The service's own range is the last day. */
function sinceOf(range: string): string | null {
  const days = RANGES[range]?.days ?? null;
  if (range === USUAL) return null;
  return new Date(days === null ? 0 : serviceNow() - days * DAY).toISOString();
}

const MOST_PREVIEWED = 160;
function preview(payload: unknown): string {
  return visible((JSON.stringify(payload) ?? "null").slice(0, MOST_PREVIEWED));
}

function PatternFilter({ pattern, onChange }: { pattern: string; onChange: (pattern: string) => void }) {
  const [text, setText] = useState(pattern);
  const known = useKnownPatterns();
  const options = useId();
  return (
    <form
      className={styles["filter"]}
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        onChange(text.trim());
      }}
    >
      <Filter aria-hidden />
      <input
        type="search"
        aria-label="Name of the event"
        placeholder="Name of an event"
        list={options}
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          // A choice of the list, or the cross that empties the field.
          if (target.value === "" || known.includes(target.value)) onChange(target.value);
        }}
      />
      <datalist id={options}>
        {known.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </form>
  );
}

function Nothing({ pattern, range, onClear }: { pattern: string; range: string; onClear: () => void }) {
  const isFiltered = pattern !== "" || range !== USUAL;
  const when = RANGES[range]?.label.toLowerCase() ?? "";
  if (isFiltered) {
    return (
      <EmptyState title={pattern === "" ? `No event came in: ${when}` : `No ${pattern} came in: ${when}`} action={<Button onClick={onClear}>Show all of the last 24 hours</Button>}>
        The filter takes the whole name of an event.
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No event came in the last 24 hours" command={`tenuto events send payment.received '{"orderId": "A1"}'`}>
      Events resume instances that wait for them, start instances, and cancel them. Publish one here, or from a terminal.
    </EmptyState>
  );
}

/** The rows without those that came while the reader was further down: nothing moves under the pointer. */
function useHeld(items: readonly Event[]) {
  const ref = useRef<HTMLDivElement>(null);
  const [first, setFirst] = useState<string | null>(null);
  const place = first === null ? 0 : Math.max(0, items.findIndex(({ eventId }) => eventId === first));
  return {
    ref,
    rows: place === 0 ? items : items.slice(place),
    fresh: place,
    onScroll: ({ target }: { target: EventTarget }) => {
      const isAtTop = (target as HTMLElement).scrollTop < 8;
      if (isAtTop !== (first === null)) setFirst(isAtTop && place === 0 ? null : (first ?? items[0]?.eventId ?? null));
    },
    release: () => {
      setFirst(null);
      ref.current?.querySelector("[role=group]")?.scrollTo({ top: 0 });
    },
  };
}
