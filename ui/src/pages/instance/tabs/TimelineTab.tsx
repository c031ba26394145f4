import { ChevronDown, ChevronRight } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, useState, type CSSProperties } from "react";
import { Link } from "wouter";

import { FINAL } from "../../../core/state";
import { duration, exactUtc, moment } from "../../../core/format";
import { compress, linear, newestRow, rowsOf, ticks, type ChildTimeline, type Row, type Scale, type Segment } from "../../../core/timeline";
import { encode, INSTANCE, link, path } from "../../../core/url";
import { classes } from "../../../kit/classes";
import { visible } from "../../../kit/JsonView";
import { useNow } from "../../../kit/Moment";
import { EmptyState } from "../../../kit/States";
import { StatusMark } from "../../../kit/StatusBadge";
import { VirtualList } from "../../../kit/VirtualList";
import { usePreferences } from "../../../state/preferences";
import { useShared } from "../context";
import { FollowButton } from "../FollowButton";
import { READ_BY_ITSELF } from "../logReader";
import { pickedBy } from "../model/iterations";
import { useFollowing } from "../useFollowing";
import { ChildReader } from "./ChildReader";
import styles from "./Timeline.module.css";

const ROW = 30;
/** The width of a time above the rows. */
const TICK = 90;
const WORDS: Record<Segment["kind"], string> = {
  queued: "queued",
  running: "ran",
  child: "ran as a child",
  "back-off": "waited to try again",
  event: "waited for an event",
  approval: "waited for a decision",
  delay: "slept",
  held: "was held back",
  loop: "iterated",
  paused: "was paused",
  compensating: "was undone",
};
const LEGEND: readonly (readonly [Segment["kind"], string])[] = [
  ["queued", "Queued"],
  ["running", "Running"],
  ["back-off", "Back-off"],
  ["event", "Waiting"],
  ["delay", "Sleeping"],
  ["compensating", "Undoing"],
];

/** When each step was queued, ran and waited. Idle gaps are cut, so that work is seen beside long waits. */
export default function TimelineTab() {
  const { plan, shown, selection, select, isFolded, log } = useShared();
  const { order, open: toggled } = selection;
  const isCompressed = selection.gaps === "cut";
  const { from, to } = selection;
  const zoom = useMemo(() => (from === null || to === null || from >= to ? null : { from, to }), [from, to]);
  const setZoom = (next: { from: number; to: number } | null) => select({ from: next === null ? null : Math.floor(next.from), to: next === null ? null : Math.ceil(next.to) });
  const isMoving = selection.at === null && !FINAL.has(shown.status);
  const clock = useNow(isMoving ? 1_000 : 3_600_000);
  const latest = Date.parse(shown.updatedAt ?? "") || clock;
  // The clocks of service and browser may differ: nothing open ends before the last entry.
  const now = isMoving ? Math.max(clock, latest) : latest;
  const picked = useMemo(() => pickedBy(plan, { step: selection.step, iteration: selection.iteration }), [selection.iteration, selection.step, plan]);
  const [children, setChildren] = useState<ReadonlyMap<string, ChildTimeline>>(new Map());
  const onChild = useCallback((id: string, child: ChildTimeline | null) => {
    setChildren((before) => (child === null ? new Map([...before].filter(([each]) => each !== id)) : new Map([...before, [id, child]])));
  }, []);
  const rows = useMemo(() => rowsOf(plan, shown, { now, order, picked, toggled, children }), [plan, shown, now, order, picked, toggled, children]);
  const opened = useMemo(() => [...new Set(rows.flatMap((row) => (row.kind === "child" && row.childId !== null ? [row.childId] : [])))], [rows]);
  const follow = useFollowing();
  const scale = useMemo(() => {
    if (zoom !== null) return linear(zoom.from, zoom.to);
    const all = rows.flatMap((row) => row.segments);
    if (isCompressed) return compress(all);
    return linear(all.reduce((least, each) => Math.min(least, each.from), latest), all.reduce((most, each) => Math.max(most, each.to), latest));
  }, [rows, isCompressed, zoom, latest]);
  if (!isFolded && log.length <= READ_BY_ITSELF) return <EmptyState title="The timeline is made from the log">It appears as soon as the whole log was read.</EmptyState>;
  if (rows.length === 0) return <EmptyState title="Nothing has begun">A row appears as soon as the first step begins.</EmptyState>;
  return (
    <div className={styles["timeline"]}>
      <div className={styles["bar"]}>
        <label>
          <input type="checkbox" checked={isCompressed} onChange={(event) => select({ gaps: event.target.checked ? "cut" : "whole" }, "replace")} /> Cut idle gaps
        </label>
        <label>
          <input type="checkbox" checked={order === "start"} onChange={(event) => select({ order: event.target.checked ? "start" : "graph" }, "replace")} /> By start
        </label>
        <FollowButton follow={follow} />
        {!isFolded && <span className={styles["partial"]}>Whole steps only, until the log is read</span>}
        {zoom !== null && (
          <button type="button" className={styles["reset"]} onClick={() => setZoom(null)}>
            Show all
          </button>
        )}
        <ul className={styles["legend"]} aria-label="Legend">
          {LEGEND.map(([kind, label]) => (
            <li key={kind}>
              <i className={classes(styles["swatch"], styles[kind])} aria-hidden /> {label}
            </li>
          ))}
        </ul>
      </div>
      {opened.map((id) => (
        <ChildReader key={id} id={id} onChange={onChild} />
      ))}
      <VirtualList
        label="Timeline"
        following={follow.list(newestRow(rows))}
        items={rows}
        rowHeight={ROW}
        idOf={(row) => row.key}
        head={<Axis scale={scale} onZoom={setZoom} />}
        render={(row) => (
          <OneRow
            row={row}
            scale={scale}
            isSelected={row.kind === "step" && row.instanceId === null && row.step === selection.step && row.iteration === selection.iteration}
            attempt={selection.attempt}
            onToggle={() => {
              // What was opened is looked at, wherever the newest is.
              select({ follow: false, open: new Map([...toggled].filter(([key]) => key !== row.key)).set(row.key, row.isOpen !== true) }, "replace");
            }}
            onSelect={(attempt) => row.kind !== "instance" && select({ step: row.step, iteration: row.iteration, attempt, entry: null })}
          />
        )}
      />
    </div>
  );
}

interface RowProps {
  row: Row;
  scale: Scale;
  isSelected: boolean;
  attempt: number | null;
  onSelect: (attempt: number | null) => void;
  onToggle: () => void;
}

/** Deeper rows are not indented further. */
const DEEPEST = 7;

function OneRow({ row, scale, isSelected, attempt, onSelect, onToggle }: RowProps) {
  const words = row.segments.map((each) => `${WORDS[each.kind]} ${duration(each.to - each.from)}${each.isOpen ? " so far" : ""}${each.outcome === "failed" ? " and failed" : ""}`).join(", ");
  return (
    <div role="listitem" className={classes(styles["row"], isSelected && styles["chosen"], row.kind === "child" && styles["child-head"])}>
      <div className={styles["names"]} style={{ paddingLeft: 2 + Math.min(row.depth, DEEPEST) * 14 }}>
        {row.isOpen === null ? (
          <span className={styles["noFold"]} />
        ) : (
          <button type="button" className={styles["fold"]} aria-expanded={row.isOpen} aria-label={`What is inside ${titleOf(row)}`} onClick={onToggle}>
            {row.isOpen ? <ChevronDown aria-hidden /> : <ChevronRight aria-hidden />}
          </button>
        )}
        <Name row={row} words={words} isSelected={isSelected} onPress={row.kind === "iteration" ? onToggle : () => onSelect(null)} />
      </div>
      <div className={styles["track"]} aria-hidden>
        {scale.breaks.map((gap) => (
          <i key={gap.from} className={styles["gap"]} style={{ left: percent(gap.x), width: percent(gap.width) }} />
        ))}
        {row.segments
          .filter((each) => each.to >= scale.from && each.from <= scale.to)
          .map((each) => (
            <button
              key={`${each.seq} ${each.kind} ${each.from}`}
              type="button"
              tabIndex={-1}
              className={classes(styles["segment"], styles[each.kind], each.outcome !== null && styles[each.outcome], each.isOpen && styles["open"], isSelected && each.attempt === attempt && styles["chosenSegment"])}
              style={placed(scale, each)}
              title={`${row.title}: ${WORDS[each.kind]} ${duration(each.to - each.from)}${each.attempt > 0 ? `, attempt ${each.attempt}` : ""}\n${exactUtc(each.from)} – ${each.isOpen ? "now" : exactUtc(each.to)}`}
              onClick={row.instanceId !== null ? undefined : row.kind === "iteration" ? onToggle : () => onSelect(each.attempt > 0 ? each.attempt : null)}
            />
          ))}
      </div>
    </div>
  );
}

const titleOf = (row: Row): string => visible(row.kind === "step" && row.iteration !== "" ? `${row.title} [${row.iteration}]` : row.title);

/** A step is selected here; one of a child is on the child's own page. */
function Name({ row, words, isSelected, onPress }: { row: Row; words: string; isSelected: boolean; onPress: () => void }) {
  const total = row.segments.reduce((sum, each) => sum + each.to - each.from, 0);
  const content = (
    <>
      {row.status !== "" && <StatusMark status={row.kind === "compensation" ? "COMPENSATED" : row.status} />}
      <span className={styles["title"]}>{titleOf(row)}</span>
      {row.segments.length > 0 && <span className={styles["total"]}>{duration(total)}</span>}
      <span className="hidden-text">{words}</span>
    </>
  );
  const owner = row.kind === "child" ? row.childId : row.instanceId;
  if (owner === null || (row.kind === "iteration" && row.instanceId !== null)) {
    return (
      <button type="button" className={styles["name"]} onClick={onPress} aria-pressed={row.kind === "step" ? isSelected : undefined} title={words}>
        {content}
      </button>
    );
  }
  const at = row.kind === "step" ? { step: row.step, iteration: row.iteration } : {};
  return (
    <Link href={link(path("instances", owner), encode(INSTANCE, { tab: "timeline", ...at }))} className={styles["name"]} title={words || "Open the child"}>
      {content}
    </Link>
  );
}

function placed(scale: Scale, { from, to }: Segment): CSSProperties {
  const left = scale.toX(from);
  return { left: percent(left), width: `max(3px, ${percent(scale.toX(to) - left)})` };
}

const percent = (share: number): string => `${(100 * share).toFixed(3)}%`;

/** The times above the rows; dragging over them shows that part alone. */
function Axis({ scale, onZoom }: { scale: Scale; onZoom: (zoom: { from: number; to: number } | null) => void }) {
  const { times } = usePreferences();
  const track = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  const place = (x: number) => {
    const box = track.current?.getBoundingClientRect();
    return box === undefined || box.width === 0 ? 0 : Math.min(Math.max((x - box.left) / box.width, 0), 1);
  };
  const latest = useRef(drag);
  latest.current = drag;
  useEffect(() => {
    if (drag === null) return;
    const move = (event: PointerEvent) => setDrag((before) => before && { ...before, to: place(event.clientX) });
    const end = () => {
      const found = latest.current;
      setDrag(null);
      if (found === null || Math.abs(found.to - found.from) < 0.01) return;
      const [from, to] = [Math.min(found.from, found.to), Math.max(found.from, found.to)];
      onZoom({ from: scale.toMoment(from), to: scale.toMoment(to) });
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", end, { once: true });
    return () => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", end);
    };
    // The listeners read the newest drag from the reference.
  }, [drag === null]);
  const span = scale.to - scale.from;
  const [most, setMost] = useState(6);
  useEffect(() => {
    const box = track.current;
    if (box === null) return;
    // As many times as can be read beside each other.
    const resized = new ResizeObserver(() => setMost(Math.min(Math.max(Math.floor(box.clientWidth / TICK), 1), 6)));
    resized.observe(box);
    return () => resized.disconnect();
  }, []);
  return (
    <div role="listitem" className={classes(styles["row"], styles["axis"])}>
      <span className={styles["corner"]}>{duration(span)} in all</span>
      <div
        ref={track}
        className={styles["track"]}
        title="Drag to see a part alone; double click to see all"
        onPointerDown={(event) => setDrag({ from: place(event.clientX), to: place(event.clientX) })}
        onDoubleClick={() => onZoom(null)}
      >
        {ticks(scale, most).map((at) => (
          <span key={at} className={styles["tick"]} style={{ left: percent(scale.toX(at)) }}>
            {tick(at, span, times)}
          </span>
        ))}
        {scale.breaks.map((gap) => (
          <span key={gap.from} className={styles["gapLabel"]} style={{ left: percent(gap.x), width: percent(gap.width) }} title={`${duration(gap.to - gap.from)} without work`}>
            {duration(gap.to - gap.from)}
          </span>
        ))}
        {drag !== null && <i className={styles["drag"]} style={{ left: percent(Math.min(drag.from, drag.to)), width: percent(Math.abs(drag.to - drag.from)) }} />}
      </div>
    </div>
  );
}

/** Of short spans the milliseconds tell the ticks apart. */
function tick(at: number, span: number, times: "local" | "utc" | "relative"): string {
  const as = times === "relative" ? "local" : times;
  const text = moment(at, as, at).replace(" UTC", "");
  return span < 10_000 ? `${text}.${String(at % 1_000).padStart(3, "0")}` : text;
}
