/** The rows of the list: instances as they were read, kept in place while they change, with children folded in. */

import type { Instance } from "./exporting";

export interface InstanceRow {
  kind: "instance";
  key: string;
  item: Instance;
  depth: number;
  isOpen: boolean;
}

/** A line below an open parent: its children are read, or there are none. */
export interface NoteRow {
  kind: "note";
  key: string;
  parentId: string;
  depth: number;
  text: string;
}

export type Row = InstanceRow | NoteRow;

export interface Children {
  items: readonly Instance[];
  isPending: boolean;
  hasMore: boolean;
  error: string | null;
}

/** Nothing moves: an instance that changed stands where it stood, as it is now. */
export function rowsOf(items: readonly Instance[], fresh: ReadonlyMap<string, Instance>, children: ReadonlyMap<string, Children>): Row[] {
  const rows: Row[] = [];
  const add = (found: Instance, depth: number, path: string) => {
    const item = fresh.get(found.id) ?? found;
    const below = children.get(item.id);
    const key = `${path}${item.id}`;
    rows.push({ kind: "instance", key, item, depth, isOpen: below !== undefined });
    if (below === undefined) return;
    for (const child of below.items) add(child, depth + 1, `${key}/`);
    const text = noteOf(below);
    if (text !== null) rows.push({ kind: "note", key: `${key}/note`, parentId: item.id, depth: depth + 1, text });
  };
  for (const item of items) add(item, 0, "");
  return rows;
}

function noteOf({ items, isPending, hasMore, error }: Children): string | null {
  if (error !== null) return error;
  if (isPending) return "Reading…";
  if (hasMore) return "More: open it";
  return items.length === 0 ? "No children" : null;
}

/** Instances at the beginning of the list that are not among those that were read. */
export function unseen(head: readonly Instance[], known: readonly Instance[]): Instance[] {
  if (known.length === 0) return [...head];
  const ids = new Set(known.slice(0, head.length + 1).map(({ id }) => id));
  const first = head.findIndex(({ id }) => ids.has(id));
  return first < 0 ? [...head] : head.slice(0, first).filter(({ id }) => !ids.has(id));
}

/** The keys between two rows, both included: what Shift selects. */
export function between(rows: readonly Row[], one: string, other: string): string[] {
  const places = [one, other].map((key) => rows.findIndex((row) => row.key === key));
  const [from, to] = [Math.min(...places), Math.max(...places)];
  if (from < 0) return [other];
  return rows.slice(from, to + 1).flatMap((row) => (row.kind === "instance" ? [row.item.id] : []));
}
