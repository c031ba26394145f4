import { useCallback, useMemo, useRef, useState } from "react";

import { between, type Row } from "./rows";

export interface Selection {
  ids: ReadonlySet<string>;
  /** Select a row by its key, or all between it and the one before. */
  toggle: (key: string, isRange: boolean) => void;
  clear: () => void;
}

const NONE: ReadonlySet<string> = new Set();

/** The key of the row where the keyboard is; "": it is elsewhere. */
export const focusedRow = (): string => document.activeElement?.closest<HTMLElement>("[data-row]")?.dataset["row"] ?? "";

/** Which rows are selected, by id, so that it outlives changes of the list. */
export function useSelection(rows: readonly Row[]): Selection {
  const [ids, setIds] = useState(NONE);
  const from = useRef<string | null>(null);
  const latest = useRef(rows);
  latest.current = rows;
  const toggle = useCallback((key: string, isRange: boolean) => {
    const row = latest.current.find((each) => each.key === key);
    if (row?.kind !== "instance") return;
    const start = from.current;
    from.current = key;
    setIds((before) => {
      const after = new Set(before);
      if (isRange && start !== null) between(latest.current, start, key).forEach((id) => after.add(id));
      else if (!after.delete(row.item.id)) after.add(row.item.id);
      return after;
    });
  }, []);
  const clear = useCallback(() => setIds(NONE), []);
  return useMemo(() => ({ ids, toggle, clear }), [ids, toggle, clear]);
}
