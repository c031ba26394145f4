import { useRef, type CSSProperties, type MouseEvent, type ReactNode, type RefObject } from "react";
import { useLocation } from "wouter";

import { basePath } from "../api/base";
import { classes } from "./classes";
import { useKeys } from "./keys";
import styles from "./Table.module.css";
import { VirtualList, type ListControls } from "./VirtualList";

export interface Column<T> {
  id: string;
  title: ReactNode;
  /** A track of the grid: "160px", "minmax(120px, 2fr)". */
  width: string;
  /** Its track on a phone, where it is another. */
  narrow?: string;
  cell: (row: T) => ReactNode;
  align?: "start" | "end";
  /** Left out on a phone. */
  isMinor?: boolean;
}

interface Props<T> {
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  idOf: (row: T) => string;
  /** Where a row leads. Its first cell should hold the same as a link, for keyboards. */
  hrefOf?: (row: T) => string;
  isSelected?: (row: T) => boolean;
  onEnd?: () => void;
  foot?: ReactNode;
  rowHeight?: number;
  /** Which rows are drawn, whenever that changes. */
  onVisible?: (first: number, last: number) => void;
  /** How far it is scrolled: where it begins, and kept up to date. */
  scroll?: RefObject<number>;
}

/** A list by columns that scrolls any number of rows. */
export function Table<T>({ label, columns, rows, idOf, hrefOf, isSelected, onEnd, foot, rowHeight = 36, onVisible, scroll }: Props<T>) {
  const [, navigate] = useLocation();
  const list = useRef<ListControls>(null);
  const move = (by: number) => list.current?.focusRow(Math.min(Math.max(list.current.focusedRow() + by, 0), rows.length - 1));
  useKeys(
    hrefOf === undefined
      ? []
      : [
          { keys: "j", label: `${label}: next row (Enter opens it)`, run: () => move(1) },
          { keys: "k", label: `${label}: previous row`, run: () => move(-1) },
        ],
  );
  const tracks = {
    "--columns": columns.map((column) => column.width).join(" "),
    "--columns-narrow": columns.filter((column) => column.isMinor !== true).map((column) => column.narrow ?? narrow(column.width)).join(" "),
  } as CSSProperties;
  const cellClass = (column: Column<T>) =>
    classes(styles["cell"], column.align === "end" && styles["end"], column.isMinor === true && styles["minor"]);
  const open = (event: MouseEvent, row: T) => {
    // A press on a control of the row is not one on the row, and marking text is none at all.
    const isOwn = (event.target as HTMLElement).closest("a, button, input, label") !== null;
    if (hrefOf === undefined || isOwn || window.getSelection()?.isCollapsed === false) return;
    if (event.metaKey || event.ctrlKey) window.open(`${basePath}${hrefOf(row)}`);
    else navigate(hrefOf(row));
  };
  return (
    <div className={styles["table"]} style={tracks}>
      <VirtualList
        controls={list}
        label={label}
        role="table"
        items={rows}
        rowHeight={rowHeight}
        idOf={idOf}
        {...(onEnd === undefined ? {} : { onEnd })}
        foot={foot}
        {...(onVisible === undefined ? {} : { onVisible })}
        {...(scroll === undefined ? {} : { scroll })}
        head={
          <div role="row" className={classes(styles["row"], styles["head"])}>
            {columns.map((column) => (
              <div key={column.id} role="columnheader" className={cellClass(column)}>
                {column.title}
              </div>
            ))}
          </div>
        }
        render={(row, place) => (
          <div
            role="row"
            aria-rowindex={place + 2}
            data-row={idOf(row)}
            className={classes(styles["row"], styles["data"], hrefOf !== undefined && styles["link"], isSelected?.(row) === true && styles["selected"])}
            onClick={(event) => open(event, row)}
          >
            {columns.map((column) => (
              <div key={column.id} role="cell" className={cellClass(column)}>
                {column.cell(row)}
              </div>
            ))}
          </div>
        )}
      />
    </div>
  );
}

/** On a phone a column gives up its least width. */
const narrow = (width: string): string => width.replace(/^minmax\([^,]+,\s*/, "minmax(0, ");
