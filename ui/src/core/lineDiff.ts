/** Two texts, line by line, as a reader compares them. */

export interface DiffLine {
  kind: "same" | "added" | "removed";
  text: string;
  /** From 1 on; null where the line is not in that text. */
  before: number | null;
  after: number | null;
}

/** Beyond, the middle is shown as replaced: a table of this many cells takes a blink. */
const MOST_CELLS = 4_000_000;

export function lineDiff(before: string, after: string): DiffLine[] {
  const [old, now] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end += 1;
  const same = (from: number, to: number, shift: number): DiffLine[] =>
    old.slice(from, to).map((text, index) => ({ kind: "same", text, before: from + index + 1, after: from + index + 1 + shift }));
  return [
    ...same(0, start, 0),
    ...middle(old.slice(start, old.length - end), now.slice(start, now.length - end), start),
    ...same(old.length - end, old.length, now.length - old.length),
  ];
}

/** By the longest common subsequence of lines. */
function middle(old: string[], now: string[], start: number): DiffLine[] {
  const [rows, columns] = [old.length + 1, now.length + 1];
  const isLarge = rows * columns > MOST_CELLS;
  const lengths = isLarge ? null : table(old, now, rows, columns);
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    const isSame = !isLarge && i < old.length && j < now.length && old[i] === now[j];
    const below = lengths?.[(i + 1) * columns + j] ?? 0;
    const right = lengths?.[i * columns + j + 1] ?? 0;
    if (isSame) {
      lines.push({ kind: "same", text: old[i] ?? "", before: start + i + 1, after: start + j + 1 });
      i += 1;
      j += 1;
    } else if (i < old.length && (j >= now.length || below >= right)) {
      lines.push({ kind: "removed", text: old[i] ?? "", before: start + i + 1, after: null });
      i += 1;
    } else {
      lines.push({ kind: "added", text: now[j] ?? "", before: null, after: start + j + 1 });
      j += 1;
    }
  }
  return lines;
}

function table(old: string[], now: string[], rows: number, columns: number): Uint32Array {
  const lengths = new Uint32Array(rows * columns);
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      const here = i * columns + j;
      lengths[here] =
        old[i] === now[j] ? (lengths[here + columns + 1] ?? 0) + 1 : Math.max(lengths[here + columns] ?? 0, lengths[here + 1] ?? 0);
    }
  }
  return lengths;
}

/** A run of lines, or how many unchanged ones are left out. */
export type DiffPart = { lines: DiffLine[] } | { hidden: DiffLine[] };

/** Changed lines with some unchanged ones around them. */
export function folded(lines: readonly DiffLine[], around = 3): DiffPart[] {
  const isNear = lines.map(() => false);
  lines.forEach((line, index) => {
    if (line.kind === "same") return;
    for (let near = Math.max(0, index - around); near <= Math.min(lines.length - 1, index + around); near += 1) isNear[near] = true;
  });
  const parts: DiffPart[] = [];
  lines.forEach((line, index) => {
    const last = parts.at(-1);
    const isShown = isNear[index] === true;
    if (isShown && last !== undefined && "lines" in last) last.lines.push(line);
    else if (!isShown && last !== undefined && "hidden" in last) last.hidden.push(line);
    else parts.push(isShown ? { lines: [line] } : { hidden: [line] });
  });
  // One line is shorter than the words that would stand for it.
  return parts.map((part) => ("hidden" in part && part.hidden.length === 1 ? { lines: part.hidden } : part));
}
