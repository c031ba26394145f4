import { duration } from "../../core/format";

interface Store {
  kind: string;
  isAvailable: boolean;
  isShared: boolean;
  milliseconds: number | null;
}

const SLOW_MS = 250;
const NAMES: Readonly<Record<string, string>> = { sqlite: "SQLite", postgres: "PostgreSQL", memory: "in memory" };

/** The health of the store, in words. */
export function storeWords({ kind, isAvailable, isShared, milliseconds }: Store): { tone: "green" | "amber" | "red"; text: string } {
  const name = Object.hasOwn(NAMES, kind) ? NAMES[kind] : kind;
  if (!isAvailable) return { tone: "red", text: `The store (${name}) does not answer: nothing moves until it does. Accepted work is safe in it.` };
  const time = milliseconds === null ? "" : ` in ${duration(milliseconds)}`;
  if (kind === "memory") return { tone: "amber", text: `The store is in memory and answers${time}: everything is lost when the process ends.` };
  const where = isShared ? "several processes may share it" : "it belongs to one process";
  if (milliseconds !== null && milliseconds > SLOW_MS) return { tone: "amber", text: `The store (${name}) answers slowly,${time}; ${where}.` };
  return { tone: "green", text: `The store (${name}) answers${time}; ${where}.` };
}
