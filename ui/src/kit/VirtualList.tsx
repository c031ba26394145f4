import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useImperativeHandle, useLayoutEffect, useRef, type ReactNode, type Ref, type RefObject } from "react";

import { classes } from "./classes";
import styles from "./VirtualList.module.css";

/** How a parent moves through the list. */
export interface ListControls {
  /** Bring a row into sight and focus the first link or button in it. */
  focusRow(place: number): void;
  /** The row that has the focus, or -1. */
  focusedRow(): number;
}

/** A row that is kept in sight while the list changes, until the viewer scrolls it out of sight. */
export interface Following {
  place: number;
  isOn: boolean;
  onLeave: () => void;
}

interface Props<T> {
  items: readonly T[];
  rowHeight: number;
  /** Stable over changes of the list, so that rows keep their focus and place. */
  idOf: (item: T) => string;
  render: (item: T, place: number) => ReactNode;
  /** Called when the end comes near. */
  onEnd?: () => void;
  /** Shown above the rows, and stays in sight. */
  head?: ReactNode;
  /** Shown below the last row. */
  foot?: ReactNode;
  role?: "list" | "table" | "listbox";
  label: string;
  className?: string;
  controls?: Ref<ListControls>;
  /** Which rows are drawn, whenever that changes. */
  onVisible?: (first: number, last: number) => void;
  /** How far it is scrolled: where it begins, and kept up to date. */
  scroll?: RefObject<number>;
  /** With it, rows that come in above what is read do not move it. */
  following?: Following;
}

/** Rows of one height, of which only the visible ones are drawn. It fills its parent and scrolls itself. */
export function VirtualList<T>({ items, rowHeight, idOf, render, onEnd, head, foot, role = "list", label, className, controls, onVisible, scroll, following }: Props<T>) {
  const scroller = useRef<HTMLDivElement>(null);
  const latestIdOf = useRef(idOf);
  latestIdOf.current = idOf;
  // The same for the same items: with another function all rows would be measured again on each scroll.
  const getItemKey = useCallback((place: number) => latestIdOf.current(items[place] as T), [items]);
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey,
    overscan: 12,
  });
  useImperativeHandle(controls, () => ({
    focusRow(place) {
      virtual.scrollToIndex(place);
      // The row is drawn after the scroll event.
      requestAnimationFrame(() =>
        requestAnimationFrame(() => {
          const row = scroller.current?.querySelector(`[data-place="${place}"]`);
          // Where it leads, so that Enter opens it; a row may have other controls before.
          (row?.querySelector<HTMLElement>("a") ?? row?.querySelector<HTMLElement>("button"))?.focus();
        }),
      );
    },
    focusedRow: () => Number(document.activeElement?.closest<HTMLElement>("[data-place]")?.dataset["place"] ?? -1),
  }));
  useLayoutEffect(() => {
    if (scroll !== undefined && scroller.current !== null) scroller.current.scrollTop = scroll.current;
  }, [scroll]);
  useFollowing(scroller, items, rowHeight, idOf, following);
  const shown = virtual.getVirtualItems();
  const first = shown[0]?.index ?? 0;
  const last = shown.at(-1)?.index ?? -1;
  const isNearEnd = last >= items.length - 20;
  useEffect(() => {
    if (isNearEnd) onEnd?.();
    // eslint-disable-next-line -- `onEnd` is new on each render; only a change of the place calls it
  }, [isNearEnd, items.length]);
  useEffect(() => {
    if (last >= 0) onVisible?.(first, last);
  }, [first, last, onVisible]);
  return (
    // Focusable, so that the keyboard scrolls it.
    <div
      ref={scroller}
      className={classes(styles["scroller"], className)}
      tabIndex={0}
      role="group"
      aria-label={label}
      onScroll={({ currentTarget }) => {
        if (scroll !== undefined) scroll.current = currentTarget.scrollTop;
        if (following?.isOn === true && following.place >= 0 && !isInSight(currentTarget, following.place, rowHeight)) following.onLeave();
      }}
    >
      <div role={role} aria-label={label} aria-rowcount={role === "table" ? items.length + 1 : undefined}>
        {head}
        <div role={role === "table" ? "rowgroup" : "presentation"} data-rows className={styles["rows"]} style={{ height: virtual.getTotalSize() }}>
          {shown.map((row) => (
            <div
              key={row.key}
              role="presentation"
              data-place={row.index}
              className={styles["row"]}
              style={{ height: rowHeight, transform: `translateY(${row.start}px)` }}
            >
              {render(items[row.index] as T, row.index)}
            </div>
          ))}
        </div>
      </div>
      {foot}
    </div>
  );
}

/** The height of what stays in sight above the rows. */
const headOf = (scroller: HTMLElement): number => scroller.querySelector<HTMLElement>("[data-rows]")?.offsetTop ?? 0;

function isInSight(scroller: HTMLElement, place: number, rowHeight: number): boolean {
  const top = place * rowHeight;
  return top + rowHeight > scroller.scrollTop && top < scroller.scrollTop + scroller.clientHeight - headOf(scroller);
}

/** Keeps the followed row in sight; while nothing is followed, what is in sight stays where it is. */
function useFollowing<T>(scroller: RefObject<HTMLDivElement | null>, items: readonly T[], rowHeight: number, idOf: (item: T) => string, following: Following | undefined): void {
  const isOn = following?.isOn === true;
  const place = following?.place ?? -1;
  const isGiven = following !== undefined;
  const first = useRef<string | null>(null);
  useLayoutEffect(() => {
    const list = scroller.current;
    const before = first.current;
    first.current = items[0] === undefined ? null : idOf(items[0]);
    if (list === null || !isGiven) return;
    if (isOn) {
      if (place === 0) list.scrollTop = 0;
      // With room below it, where the next one comes.
      else if (place > 0 && !isInSight(list, place, rowHeight)) list.scrollTop = place * rowHeight - (list.clientHeight - headOf(list)) * 0.6;
    } else if (before !== null && before !== first.current && list.scrollTop > 0) {
      const added = items.findIndex((item) => idOf(item) === before);
      if (added > 0) list.scrollTop += added * rowHeight;
    }
    // The rows are those of `items`; the rest is new on each render.
  }, [items, isOn, place, isGiven]);
}
