/**
 * The search of instances: `status:failed workflow:order step:charge var.region=eu since:1h` ↔ the
 * parameters of `GET /api/v1/instances`. Every problem has its place in the text.
 */

import type { Json, JsonObject } from "./json";

/** Parameters of `GET /api/v1/instances`, as it spells them. */
export interface InstanceParams {
  status?: string;
  workflowId?: string;
  correlationId?: string;
  key?: string;
  currentStep?: string;
  ids?: string;
  createdFrom?: string;
  createdBefore?: string;
  updatedFrom?: string;
  updatedBefore?: string;
  waitingFor?: string;
  roots?: boolean;
  parentId?: string;
  text?: string;
  /** A JSON object of values by name. */
  variables?: string;
}

export interface SearchProblem {
  /** Its place in the text. */
  from: number;
  to: number;
  message: string;
  advice: string;
}

/** One part of a search: `qualifier:value`, `var.name=value`, or a word alone. */
export interface Term {
  /** Empty for a word alone; `var` for a variable. */
  qualifier: string;
  /** Of a variable. */
  name: string;
  value: string;
  isQuoted: boolean;
  from: number;
  to: number;
  /** Where its value begins. */
  valueFrom: number;
}

export interface Search {
  params: InstanceParams;
  problems: SearchProblem[];
}

export interface Qualifier {
  name: string;
  /** One sentence for completion. */
  help: string;
  example: string;
}

export const STATUSES = [
  "CREATED",
  "RUNNING",
  "WAITING_FOR_EVENT",
  "PAUSED",
  "COMPLETED",
  "FAILED",
  "CANCELLED",
] as const;

const ALIASES: Record<string, readonly string[]> = {
  waiting: ["WAITING_FOR_EVENT"],
  queued: ["CREATED"],
  done: ["COMPLETED"],
  active: ["CREATED", "RUNNING", "WAITING_FOR_EVENT", "PAUSED"],
  ended: ["COMPLETED", "FAILED", "CANCELLED"],
};

type TextParam = Exclude<keyof InstanceParams, "roots">;
const SINGLE: Record<string, TextParam> = {
  workflow: "workflowId",
  step: "currentStep",
  correlation: "correlationId",
  key: "key",
  event: "waitingFor",
  parent: "parentId",
  text: "text",
};
const MOMENTS: Record<string, TextParam> = {
  since: "createdFrom",
  before: "createdBefore",
  "changed-since": "updatedFrom",
  "changed-before": "updatedBefore",
};

export const QUALIFIERS: readonly Qualifier[] = [
  { name: "status", help: "One status, or several with commas", example: "status:failed,cancelled" },
  { name: "workflow", help: "The id of the definition", example: "workflow:order" },
  { name: "step", help: "A step that is open now", example: "step:charge" },
  { name: "correlation", help: "The correlation id, exactly", example: "correlation:ORD-17" },
  { name: "key", help: "The idempotency key of its start, exactly", example: "key:order-17" },
  { name: "id", help: "One instance id, or several with commas", example: "id:019b7d4f-…" },
  { name: "event", help: "The pattern of an event that a step waits for", example: "event:payment.received" },
  { name: "parent", help: "Children of one instance", example: "parent:019b7d4f-…" },
  { name: "text", help: "In the workflow, correlation id, steps or error", example: 'text:"card declined"' },
  { name: "var", help: "The value of a searchable variable", example: "var.region=eu" },
  { name: "since", help: "Created since then: 1h, 2d, or a date", example: "since:1h" },
  { name: "before", help: "Created before then", example: "before:2026-11-01" },
  { name: "changed-since", help: "Changed since then", example: "changed-since:15m" },
  { name: "changed-before", help: "Changed before then", example: "changed-before:7d" },
  { name: "is", help: "Roots only, or children too", example: "is:any" },
];

const NAMES: ReadonlySet<string> = new Set(QUALIFIERS.map((each) => each.name));
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const HEAD = /^(?:var\.([^\s:="]+)|([A-Za-z][\w-]*))[:=]/;

/** The terms of a text. A quotation mark that is not closed is a problem. */
export function parseSearch(text: string): { terms: Term[]; problems: SearchProblem[] } {
  const terms: Term[] = [];
  const problems: SearchProblem[] = [];
  let at = 0;
  while (at < text.length) {
    if (/\s/.test(text[at] as string)) {
      at += 1;
      continue;
    }
    const from = at;
    const head = HEAD.exec(text.slice(at));
    const valueFrom = at + (head?.[0].length ?? 0);
    const { value, end, isQuoted, isClosed } = readValue(text, valueFrom);
    if (!isClosed) {
      const message = "The quotation mark is not closed.";
      problems.push({ from: valueFrom, to: end, message, advice: 'Add `"` at the end of the value.' });
    }
    at = end;
    terms.push({
      qualifier: head ? (head[1] === undefined ? (head[2] as string).toLowerCase() : "var") : "",
      name: head?.[1] ?? "",
      value,
      isQuoted,
      from,
      to: end,
      valueFrom,
    });
  }
  return { terms, problems };
}

function readValue(text: string, from: number): { value: string; end: number; isQuoted: boolean; isClosed: boolean } {
  if (text[from] !== '"') {
    let end = from;
    while (end < text.length && !/\s/.test(text[end] as string)) end += 1;
    return { value: text.slice(from, end), end, isQuoted: false, isClosed: true };
  }
  let value = "";
  let at = from + 1;
  for (; at < text.length && text[at] !== '"'; at += 1) {
    if (text[at] === "\\" && at + 1 < text.length) at += 1;
    value += text[at];
  }
  const isClosed = at < text.length;
  return { value, end: isClosed ? at + 1 : at, isQuoted: true, isClosed };
}

/** The parameters that a text stands for at the moment `now`. Roots only, unless it says more. */
export function readSearch(text: string, now: Date): Search {
  const { terms, problems } = parseSearch(text);
  const params: InstanceParams = {};
  const statuses = new Set<string>();
  const ids = new Set<string>();
  const variables: JsonObject = {};
  let scope: string | null = null;
  const refuse = (term: Term, message: string, advice: string) =>
    problems.push({ from: term.from, to: term.to, message, advice });
  const single = (term: Term, param: TextParam, value: string) => {
    if (params[param] !== undefined && params[param] !== value) {
      refuse(term, `\`${term.qualifier || "a word"}\` is given twice.`, "Keep one of them.");
    } else params[param] = value;
  };
  for (const term of terms) {
    const { qualifier, value } = term;
    if (qualifier !== "" && qualifier !== "var" && value === "") {
      const example = QUALIFIERS.find((each) => each.name === qualifier)?.example;
      refuse(term, `\`${qualifier}\` has no value.`, example ? `Write \`${example}\`.` : "Remove it.");
    } else if (qualifier === "status") {
      for (const word of value.split(",").filter((each) => each !== "")) {
        const found = statusesOf(word);
        if (found.length > 0) found.forEach((each) => statuses.add(each));
        else {
          const known = STATUSES.map((each) => each.toLowerCase()).join(", ");
          refuse(term, `\`${word}\` is not a status.`, `It is one of ${known}.`);
        }
      }
    } else if (qualifier === "id") {
      value
        .split(",")
        .filter((each) => each !== "")
        .forEach((each) => ids.add(each));
    } else if (Object.hasOwn(SINGLE, qualifier)) {
      single(term, SINGLE[qualifier] as TextParam, value);
    } else if (Object.hasOwn(MOMENTS, qualifier)) {
      const moment = momentOf(value, now);
      if (moment === null) {
        const advice = "Write a duration such as `1h` or `2d`, or a date such as `2026-11-01`.";
        refuse(term, `\`${value}\` is not a time.`, advice);
      } else single(term, MOMENTS[qualifier] as TextParam, moment);
    } else if (qualifier === "var") {
      if (Object.hasOwn(variables, term.name)) {
        refuse(term, `\`var.${term.name}\` is given twice.`, "Keep one of them.");
      } else define(variables, term.name, term.isQuoted ? value : literal(value));
    } else if (qualifier === "is") {
      if (!["root", "any"].includes(value)) {
        refuse(term, `\`is:${value}\` is not known.`, "It is `is:root` or `is:any`.");
      } else scope = value;
    } else if (qualifier === "") {
      readWord(term, ids, single, refuse);
    } else {
      refuse(term, `\`${qualifier}\` is not a qualifier.`, adviceFor(qualifier));
    }
  }
  if (statuses.size > 0) params.status = STATUSES.filter((each) => statuses.has(each)).join(",");
  if (ids.size > 0) params.ids = [...ids].join(",");
  if (Object.keys(variables).length > 0) params.variables = JSON.stringify(variables);
  const variable = terms.find((term) => term.qualifier === "var");
  if (variable && params.workflowId === undefined) {
    refuse(variable, "Variables are found within one workflow.", "Add `workflow:` with its id.");
  }
  if (scope === "root" || (scope === null && !isNarrow(params))) params.roots = true;
  return { params, problems };
}

/** Whether it names instances: these may be children, too. */
const isNarrow = ({ ids, parentId, key }: InstanceParams): boolean => ids !== undefined || parentId !== undefined || key !== undefined;

function readWord(
  term: Term,
  ids: Set<string>,
  single: (term: Term, param: TextParam, value: string) => void,
  refuse: (term: Term, message: string, advice: string) => void,
): void {
  const { value } = term;
  if (ID.test(value)) ids.add(value.toLowerCase());
  else if (!term.isQuoted && statusesOf(value).length > 0) {
    refuse(term, `\`${value}\` is a status.`, `Write \`status:${value.toLowerCase()}\`.`);
  } else if (value !== "") single(term, "correlationId", value);
}

function adviceFor(qualifier: string): string {
  const near = QUALIFIERS.filter(({ name }) => name.startsWith(qualifier) || qualifier.startsWith(name));
  if (near.length > 0) return `Did you mean \`${near.map(({ name }) => name).join("`, `")}\`?`;
  return `Qualifiers are ${QUALIFIERS.map(({ name }) => name).join(", ")}; quote other words.`;
}

function statusesOf(word: string): readonly string[] {
  const alias = word.toLowerCase();
  if (Object.hasOwn(ALIASES, alias)) return ALIASES[alias] as readonly string[];
  const spelled = word.toUpperCase().replaceAll("-", "_");
  return STATUSES.filter((each) => each === spelled);
}

const UNITS: Record<string, number> = { s: 1e3, m: 60e3, h: 3600e3, d: 86400e3, w: 604800e3 };

/** A moment: a duration before `now` (`1h30m`), a date or a timestamp, `today`; null: it is none. */
export function momentOf(text: string, now: Date): string | null {
  if (text === "today") {
    return new Date(now.getFullYear(), now.getMonth(), now.getDate()).toISOString();
  }
  if (/^(\d+(\.\d+)?[smhdw])+$/.test(text)) {
    let length = 0;
    for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d+)?)([smhdw])/g)) {
      length += Number(number) * (UNITS[unit as string] as number);
    }
    const moment = new Date(now.getTime() - length);
    return Number.isNaN(moment.getTime()) || moment.getUTCFullYear() < 1 ? null : moment.toISOString();
  }
  if (!/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$/.test(text)) return null;
  // A date alone is the viewer's midnight.
  const moment = new Date(text.length === 10 ? `${text}T00:00` : text);
  return Number.isNaN(moment.getTime()) ? null : moment.toISOString();
}

function literal(text: string): Json {
  if (!/^(-?\d|true$|false$|null$|[[{])/.test(text)) return text;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

/** The text of parameters: `readSearch` of it gives them again. */
export function writeSearch(params: InstanceParams): string {
  const parts: string[] = [];
  if (params.status) parts.push(`status:${params.status.toLowerCase()}`);
  for (const [qualifier, param] of [...Object.entries(SINGLE), ...Object.entries(MOMENTS)]) {
    const value = params[param];
    if (value !== undefined) parts.push(`${qualifier}:${quoted(value)}`);
  }
  if (params.ids) parts.push(`id:${params.ids}`);
  if (params.variables !== undefined) {
    for (const [name, value] of Object.entries(JSON.parse(params.variables) as JsonObject)) {
      parts.push(`var.${name}=${typeof value === "string" ? quotedText(value) : quotedJson(value)}`);
    }
  }
  if (params.roots && isNarrow(params)) parts.push("is:root");
  if (!params.roots && !isNarrow(params)) parts.push("is:any");
  return parts.join(" ");
}

function quoted(value: string): string {
  return value === "" || /[\s"]/.test(value) ? inQuotes(value) : value;
}

/** A string of a variable: in quotation marks where it would be read as something else. */
function quotedText(value: string): string {
  return typeof literal(value) === "string" ? quoted(value) : inQuotes(value);
}

function quotedJson(value: Json): string {
  // White space inside strings is escaped, since it would end the value.
  return JSON.stringify(value).replace(/\s/g, (space) => `\\u${space.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function inQuotes(value: string): string {
  return `"${value.replace(/["\\]/g, "\\$&")}"`;
}

/** The search with one qualifier set to `value`, or without it (null): for clicks on a page. */
export function withTerm(text: string, qualifier: string, value: string | null): string {
  const { terms } = parseSearch(text);
  const kept = terms.filter((term) => term.qualifier !== qualifier).map((term) => text.slice(term.from, term.to));
  if (value !== null) kept.push(`${qualifier}:${quoted(value)}`);
  return kept.join(" ");
}

const KEPT = ["workflowId", "correlationId", "currentStep", "createdFrom", "createdBefore", "waitingFor", "parentId", "roots"] as const;

/** The filter of `POST /instances/bulk`, and the parameters that it does not know. */
export function bulkFilter(params: InstanceParams): { filter: JsonObject; lacks: string[] } {
  const filter: JsonObject = {};
  if (params.ids) filter["ids"] = params.ids.split(",");
  if (params.status) filter["status"] = params.status.split(",");
  for (const name of KEPT) {
    const value = params[name];
    if (value !== undefined) filter[name] = value;
  }
  const others = ["updatedFrom", "updatedBefore", "variables", "key", "text"] as const;
  return { filter, lacks: others.filter((name) => params[name] !== undefined) };
}

export interface Suggestion {
  /** What is put in place of `from`–`to`. */
  text: string;
  label: string;
  help: string;
}

export interface Completion {
  from: number;
  to: number;
  items: Suggestion[];
}

/** Values that a page knows, by qualifier: workflows, steps, patterns, names of variables (`var`). */
export type KnownValues = Partial<Record<string, readonly string[]>>;

const TIMES = ["15m", "1h", "24h", "7d", "30d", "today"];

/** What may stand at the cursor. */
export function completeSearch(text: string, cursor: number, known: KnownValues): Completion {
  const { terms } = parseSearch(text);
  const term = terms.find(({ from, to }) => from <= cursor && cursor <= to);
  if (!term) return { from: cursor, to: cursor, items: heads("", known) };
  if (term.qualifier === "" || cursor < term.valueFrom) {
    const typed = text.slice(term.from, cursor).toLowerCase();
    const to = term.qualifier === "" ? term.to : term.valueFrom;
    return { from: term.from, to, items: heads(typed, known) };
  }
  const list = term.qualifier === "status" || term.qualifier === "id";
  const before = text.slice(term.valueFrom, cursor);
  const from = list ? term.valueFrom + before.lastIndexOf(",") + 1 : term.valueFrom;
  const typed = text.slice(from, cursor).replace(/^"/, "").toLowerCase();
  const rest = text.slice(cursor, term.to).search(/[,]/);
  const to = list && rest >= 0 ? cursor + rest : term.to;
  const values = valuesOf(term.qualifier, known);
  const items = ranked(values, typed).map((value) => {
    const spelled = term.qualifier === "status" ? value : quoted(value);
    return { text: spelled, label: value, help: "" };
  });
  return { from, to, items };
}

function heads(typed: string, known: KnownValues): Suggestion[] {
  const plain = QUALIFIERS.filter(({ name }) => name !== "var").map(({ name, help }) => ({
    text: `${name}:`,
    label: `${name}:`,
    help,
  }));
  const variables = (known["var"] ?? []).map((name) => ({
    text: `var.${name}=`,
    label: `var.${name}=`,
    help: "The value of a variable",
  }));
  const all = [...plain, ...(variables.length > 0 ? variables : [VARIABLE])];
  return all.filter(({ label }) => label.toLowerCase().startsWith(typed));
}

const VARIABLE: Suggestion = { text: "var.", label: "var.", help: "The value of a searchable variable" };

function valuesOf(qualifier: string, known: KnownValues): readonly string[] {
  if (qualifier === "status") {
    return [...STATUSES.map((each) => each.toLowerCase()), "active", "ended"];
  }
  if (qualifier === "is") return ["root", "any"];
  if (Object.hasOwn(MOMENTS, qualifier)) return TIMES;
  return known[qualifier] ?? [];
}

/** Those that begin with what was typed, then those that contain it. */
function ranked(values: readonly string[], typed: string): string[] {
  const lower = (value: string) => value.toLowerCase();
  const first = values.filter((value) => lower(value).startsWith(typed));
  const later = values.filter((value) => !lower(value).startsWith(typed) && lower(value).includes(typed));
  return [...first, ...later].slice(0, 50);
}

export function isQualifier(name: string): boolean {
  return NAMES.has(name);
}

/** Also a name such as `__proto__` is a name like any other. */
function define(object: JsonObject, name: string, value: Json): void {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}
