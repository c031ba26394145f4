/**
 * The states of one instance at any of its entries, for a time slider: folded from the nearest state
 * that is kept, so that a step back in a long log costs little.
 */

import { blank, foldAll, type InstanceState } from "./fold";
import type { LogEntry } from "./log";
import type { Plan } from "./plan";

/** So many states are kept beside the newest; each shares with others what did not change. */
const KEPT = 16;
const LEAST = 500;

export class Replay {
  private readonly plan: Plan;
  private readonly log: LogEntry[] = [];
  private readonly kept: InstanceState[];
  private last: InstanceState;

  constructor(plan: Plan, id: string, entries: readonly LogEntry[] = []) {
    this.plan = plan;
    this.last = blank(id);
    this.kept = [this.last];
    this.append(entries);
  }

  /** How many entries there are. */
  get length(): number {
    return this.log.length;
  }

  /** The state after all entries. */
  get newest(): InstanceState {
    return this.last;
  }

  /** Take in further entries; those that are here already are left out. False: some are missing. */
  append(entries: readonly LogEntry[]): boolean {
    const fresh = entries.filter((entry) => entry.seq > this.log.length);
    const isWhole = fresh.every((entry, index) => entry.seq === this.log.length + index + 1);
    if (!isWhole) return false;
    for (let from = 0; from < fresh.length; ) {
      const stride = Math.max(LEAST, Math.ceil((this.log.length + fresh.length) / KEPT));
      const part = fresh.slice(from, from + stride);
      for (const entry of part) this.log.push(entry);
      this.last = foldAll(this.plan, this.last, part);
      from += part.length;
      const before = this.kept.at(-1)?.version ?? 0;
      if (this.last.version - before >= stride) this.kept.push(this.last);
    }
    return true;
  }

  /** The state after entry `version`; 0: before the first. */
  at(version: number): InstanceState {
    const wanted = Math.min(Math.max(Math.trunc(version), 0), this.log.length);
    if (wanted === this.last.version) return this.last;
    const from = this.kept.findLast((state) => state.version <= wanted) as InstanceState;
    return from.version === wanted ? from : foldAll(this.plan, from, this.log.slice(from.version, wanted));
  }

  entry(seq: number): LogEntry | undefined {
    return this.log[seq - 1];
  }

  /** The entries so far, the oldest first; not to be changed. */
  get entries(): readonly LogEntry[] {
    return this.log;
  }
}
