import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useImperativeHandle, useRef, type ReactNode, type Ref } from "react";

import { classes } from "./classes";
import styles from "./VirtualList.module.css";

/** How a parent moves through the list. */
export interface ListControls {
  /** Bring a row into sight and focus the first link or button in it. */
  focusRow(place: number): void;
  /** The row that has the focus, or -1. */
  focusedRow(): number;
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
}

/** Rows of one height, of which only the visible ones are drawn. It fills its parent and scrolls itself. */
export function VirtualList<T>({ items, rowHeight, idOf, render, onEnd, head, foot, role = "list", label, className, controls }: Props<T>) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: (place) => idOf(items[place] as T),
    overscan: 12,
  });
  useImperativeHandle(controls, () => ({
    focusRow(place) {
      virtual.scrollToIndex(place);
      // The row is drawn after the scroll event.
      requestAnimationFrame(() =>
        requestAnimationFrame(() => scroller.current?.querySelector<HTMLElement>(`[data-place="${place}"] :is(a, button)`)?.focus()),
      );
    },
    focusedRow: () => Number(document.activeElement?.closest<HTMLElement>("[data-place]")?.dataset["place"] ?? -1),
  }));
  const shown = virtual.getVirtualItems();
  const last = shown.at(-1)?.index ?? -1;
  const isNearEnd = last >= items.length - 20;
  useEffect(() => {
    if (isNearEnd) onEnd?.();
    // eslint-disable-next-line -- `onEnd` is new on each render; only a change of the place calls it
  }, [isNearEnd, items.length]);
  return (
    // Focusable, so that the keyboard scrolls it.
    <div ref={scroller} className={classes(styles["scroller"], className)} tabIndex={0} role="group" aria-label={label}>
      <div role={role} aria-label={label} aria-rowcount={role === "table" ? items.length + 1 : undefined}>
        {head}
        <div role={role === "table" ? "rowgroup" : "presentation"} className={styles["rows"]} style={{ height: virtual.getTotalSize() }}>
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
