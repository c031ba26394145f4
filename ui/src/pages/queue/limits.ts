/** Limits as people name them, and a change of limits: what is edited, what is sent, what it would do. */

import type { Shape } from "../../api/types";
import { count, counted } from "../../core/format";

export type Limits = Shape<"SetLimits">;
export type LimitUse = Shape<"LimitUse">;
export type Preview = Shape<"LimitsPreview">;
export type Queued = Shape<"QueuedInstance">;

/** Such as "Workflow order" of `type:default/order`; one of a newer service stays as it is. */
export function limitName(limit: string): string {
  if (limit === "global") return "All instances";
  const [kind = "", rest = ""] = parted(limit, ":");
  const [tenant, name = ""] = parted(rest, "/");
  switch (kind) {
    case "tenant":
      return `Tenant ${tenant}`;
    case "type":
      return `Workflow ${name}`;
    case "user":
      return `User ${name}`;
    case "mutex":
      return `Mutex ${name}`;
    case "key": {
      const [workflow, value = ""] = parted(name, "/");
      return value === "" ? `Own limit of ${workflow}` : `Key ${value} of ${workflow}`;
    }
    case "rate":
    case "debounce": {
      const [workflow, value = ""] = parted(name, "/");
      return `${kind === "rate" ? "Rate" : "Debounce"} of ${workflow}${value === "" ? "" : `, key ${value}`}`;
    }
    default:
      return limit;
  }
}

function parted(text: string, mark: string): [string, string?] {
  const place = text.indexOf(mark);
  return place < 0 ? [text] : [text.slice(0, place), text.slice(place + 1)];
}

/** What an instance waits for: "Workflow order 2 of 2"; a debounce has no number. */
export const waitWords = (waitingFor: Queued["waitingFor"]): string =>
  waitingFor.map(({ limit, held, max }) => (max === null || max === undefined ? limitName(limit) : `${limitName(limit)} ${count(held)} of ${count(max)}`)).join(", ");

/** A limit that can be set on this page; those of keys are in definitions, a mutex is one. */
export const isSet = (limit: string): boolean => /^(global$|tenant:|type:|user:)/.test(limit);

/** "2 of 3, 5 wait"; a debounce has no number: "5 wait". */
export function fullWords({ held, max, waiting }: Pick<LimitUse, "held" | "max" | "waiting">): string {
  const line = waiting === 0 ? "" : `${count(waiting)} ${waiting === 1 ? "waits" : "wait"}`;
  const full = max === null ? "" : `${count(held)} of ${count(max)}`;
  return [full, line].filter((each) => each !== "").join(", ");
}

/** Whether nothing more fits under a limit now. */
export const isFull = ({ held, max }: Pick<LimitUse, "held" | "max">): boolean => max !== null && held >= max;

/** Those that something waits for come first, else as they are: there may be more than fit on the page. */
export const waitedForFirst = <T extends Pick<LimitUse, "waiting">>(limits: readonly T[]): T[] => [...limits].sort((one, other) => Number(other.waiting > 0) - Number(one.waiting > 0));

/** How full a bar is; what runs above a lowered limit is no more than full. */
export const fullness = ({ held, max }: Pick<LimitUse, "held" | "max">): number => (max === null ? 0 : max === 0 ? 100 : Math.min(100, (100 * held) / max));

/** What an empty queue means; `uses` is undefined where the limits are not seen. A limit of a definition is listed only while something waits for it. */
export function emptyWords(uses: readonly LimitUse[] | undefined): string {
  const later = "An instance that is started while a limit is full appears here, in its order.";
  if (uses === undefined) return later;
  if (uses.length === 0)
    return "No limit on all instances, a tenant, a workflow or a user is set, and nothing waits for a limit of its definition. With a limit, what is over it waits here in order and begins as soon as there is room.";
  const steps = uses.filter(({ limit }) => limit.startsWith("mutex:")).reduce((sum, { waiting }) => sum + waiting, 0);
  const full = uses.filter((each) => isFull(each) && !each.limit.startsWith("mutex:"));
  const said = [
    ...(steps === 0 ? [] : [`${counted(steps, "step")} ${steps === 1 ? "waits" : "wait"} for a mutex.`]),
    ...(full.length === 0 ? [] : [`${full.map(({ limit }) => limitName(limit)).join(", ")}: full. What is started now and counts for ${full.length === 1 ? "it" : "one of them"} waits here.`]),
  ];
  return said.length === 0 ? `Every limit has room. ${later}` : said.join(" ");
}

export interface Row {
  name: string;
  max: string;
}

/** The form: numbers as they are typed. */
export interface Draft {
  global: string;
  workflows: readonly Row[];
  tenants: readonly Row[];
  users: readonly Row[];
  order: "fifo" | "priority" | "deadline";
  bound: string;
  aging: string;
  shares: readonly Row[];
  /** Whether the limit of all instances follows the load, within which bounds, and by which targets. */
  follows: boolean;
  least: string;
  most: string;
  loopLag: string;
  commit: string;
  memory: string;
}

const TARGETS = ["loopLag", "commit", "memory"] as const;
const LOAD = ["follows", "least", "most", ...TARGETS] as const;

export const draftOf = (limits: Limits): Draft => ({
  global: typed(limits.globalMaxConcurrent),
  workflows: rowsOf(limits.workflowTypeLimits),
  tenants: rowsOf(limits.tenantLimits),
  users: rowsOf(limits.userLimits),
  order: limits.queue?.order ?? "fifo",
  bound: typed(limits.queue?.bound),
  aging: limits.queue?.aging ?? "PT1M",
  shares: rowsOf(limits.queue?.perTenantShare),
  follows: limits.resourceBasedLimits?.enabled ?? false,
  least: typed(limits.resourceBasedLimits?.min),
  most: typed(limits.resourceBasedLimits?.max),
  loopLag: typed(limits.resourceBasedLimits?.targets?.loopLagMs),
  commit: typed(limits.resourceBasedLimits?.targets?.commitMs),
  memory: typed(limits.resourceBasedLimits?.targets?.memoryPercent),
});

/** What the service takes where nothing is given. */
export const LOAD_DEFAULTS = { least: "10", most: "1000", loopLag: "100", commit: "100", memory: "85" } as const;

const typed = (value: number | null | undefined): string => (value === null || value === undefined ? "" : String(value));
const rowsOf = (map: Record<string, number> | undefined): Row[] =>
  Object.entries(map ?? {})
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([name, max]) => ({ name, max: String(max) }));

/** What is sent: `base` with what the form has; what the form does not show stays. */
export function documentOf(draft: Draft, base: Limits): Record<string, unknown> {
  const { version: _, ...rest } = base;
  const before = draftOf(base);
  const isLoadChanged = LOAD.some((field) => draft[field] !== before[field]);
  return {
    ...rest,
    ...(isLoadChanged ? { resourceBasedLimits: loadOf(draft) } : {}),
    globalMaxConcurrent: numberOf(draft.global),
    workflowTypeLimits: mapOf(draft.workflows),
    tenantLimits: mapOf(draft.tenants),
    userLimits: mapOf(draft.users),
    queue: { ...base.queue, order: draft.order, bound: numberOf(draft.bound), aging: draft.aging.trim(), perTenantShare: mapOf(draft.shares) },
  };
}

function loadOf({ follows, least, most, loopLag, commit, memory }: Draft): Record<string, unknown> {
  const given = (fields: Record<string, string>) => Object.fromEntries(Object.entries(fields).filter(([, text]) => text.trim() !== "").map(([name, text]) => [name, /^\d+\.\d+$/.test(text.trim()) ? Number(text) : numberOf(text)]));
  return { enabled: follows, ...given({ min: least, max: most }), targets: given({ loopLagMs: loopLag, commitMs: commit, memoryPercent: memory }) };
}

/** A number, or the text that is none: the service says what is wrong with it. */
const numberOf = (text: string): number | string | null => (text.trim() === "" ? null : /^-?\d+$/.test(text.trim()) ? Number(text.trim()) : text.trim());
const mapOf = (rows: readonly Row[]): Record<string, number | string | null> =>
  Object.fromEntries(rows.filter(({ name, max }) => name.trim() !== "" && max.trim() !== "").map(({ name, max }) => [name.trim(), numberOf(max)]));

/** What can be said of the numbers of a form before the service is asked: by field, which are none. */
export function notNumbers(draft: Draft): Partial<Record<keyof Draft, string>> {
  const isNone = (text: string) => text.trim() !== "" && !/^\d+$/.test(text.trim());
  const said = (texts: readonly string[]) => texts.filter(isNone).map((text) => `“${text.trim()}”`);
  const found = {
    global: said([draft.global]),
    bound: said([draft.bound]),
    least: said([draft.least]),
    most: said([draft.most]),
    ...Object.fromEntries(MAPS.map((field) => [field, said(draft[field].map(({ max }) => max))])),
  };
  const whole = Object.entries(found).filter(([, none]) => none.length > 0).map(([field, none]) => [field, `${none.join(", ")} ${none.length === 1 ? "is no whole number" : "are no whole numbers"} from 0.`]);
  const others = TARGETS.filter((field) => draft[field].trim() !== "" && !/^\d+(\.\d+)?$/.test(draft[field].trim())).map((field) => [field, `“${draft[field].trim()}” is no number.`]);
  return Object.fromEntries([...whole, ...others]) as Partial<Record<keyof Draft, string>>;
}


/** What is wrong with each row of a map, before the service is asked: what has no name or no number, or is named twice, would not be saved. "": nothing. */
export const rowProblems = (rows: readonly Row[]): string[] =>
  rows.map(({ name, max }, place) => {
    const [id, number] = [name.trim(), max.trim()];
    if (id === "") return number === "" ? "" : "Give a name, or * for each one that is not named.";
    if (rows.slice(0, place).some((other) => other.name.trim() === id)) return `“${id}” is there already.`;
    return number === "" ? "Give a number, or remove the row." : "";
  });

/** Whether a row of any map is wrong. */
export const hasWrongRows = (draft: Draft): boolean => MAPS.some((field) => rowProblems(draft[field]).some((each) => each !== ""));

const MAPS = ["workflows", "tenants", "users", "shares"] as const;
const FIELDS = ["global", "order", "bound", "aging", ...LOAD] as const;

/** A draft that was made from `base`, made again from limits that were saved meanwhile: what was edited stays edited. */
export function rebased(draft: Draft, base: Draft, newest: Draft): Draft {
  const kept = Object.fromEntries(FIELDS.map((field) => [field, draft[field] === base[field] ? newest[field] : draft[field]]));
  const maps = Object.fromEntries(MAPS.map((field) => [field, rowsRebased(draft[field], base[field], newest[field])]));
  return { ...newest, ...kept, ...maps };
}

function rowsRebased(draft: readonly Row[], base: readonly Row[], newest: readonly Row[]): Row[] {
  const before = new Map(base.map(({ name, max }) => [name, max]));
  const mine = new Map(draft.map(({ name, max }) => [name, max]));
  const result = new Map(newest.map(({ name, max }) => [name, max]));
  for (const [name, max] of mine) if (before.get(name) !== max) result.set(name, max);
  for (const name of before.keys()) if (!mine.has(name)) result.delete(name);
  return [...result].map(([name, max]) => ({ name, max }));
}

/** What differs between two states of the limits, in words: "Workflow order: 2, was 3". */
export function differences(before: Draft, after: Draft): string[] {
  const said: string[] = [];
  const say = (name: string, one: string, other: string) => one !== other && said.push(`${name}: ${other === "" ? "no limit" : other}, was ${one === "" ? "none" : one}`);
  say("All instances", before.global, after.global);
  const titles = { workflows: "Workflow", tenants: "Tenant", users: "User", shares: "Share of tenant" };
  for (const field of MAPS) {
    const one = new Map(before[field].map(({ name, max }) => [name, max]));
    const other = new Map(after[field].map(({ name, max }) => [name, max]));
    for (const name of new Set([...one.keys(), ...other.keys()])) say(`${titles[field]} ${name}`, one.get(name) ?? "", other.get(name) ?? "");
  }
  say("Order", before.order, after.order);
  say("Most that wait", before.bound, after.bound);
  say("Aging", before.aging, after.aging);
  say("Follows the load", before.follows ? "yes" : "no", after.follows ? "yes" : "no");
  const load = { least: "At least", most: "At most", loopLag: "Loop lag", commit: "Commit latency", memory: "Memory" };
  for (const field of ["least", "most", ...TARGETS] as const) say(load[field], before[field], after[field]);
  return said;
}

/** What a change would do at once, in one sentence. */
export function previewWords({ admitted, waiting, isComplete }: Preview): string {
  const begin = admitted === 0 ? "No instance would begin at once" : `${counted(admitted, "instance")} would begin at once`;
  const rest = waiting === 0 ? "none would wait" : `${count(waiting)} would ${admitted === 0 ? "" : "still "}wait`;
  return `${begin}, and ${rest}.${isComplete ? "" : " Only the first 10,000 that wait were looked at."}`;
}
