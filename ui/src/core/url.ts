/**
 * The state of a page ↔ the parameters of its address. What is as it is by default is not written,
 * and what cannot be read is as by default: every address shows a page.
 */

export interface Field<T> {
  initial: T;
  read(text: string): T | undefined;
  write(value: T): string;
}

export type Codec<T> = { [K in keyof T]: Field<T[K]> };

export function text(initial = ""): Field<string> {
  return { initial, read: (given) => given, write: (value) => value };
}

/** A text, or none. */
export function optional(): Field<string | null> {
  return { initial: null, read: (given) => given, write: (value) => value ?? "" };
}

export function oneOf<const T extends string>(values: readonly T[], initial: T): Field<T> {
  return { initial, read: (given) => values.find((each) => each === given), write: (value) => value };
}

/** A whole number from 0 on, or none. */
export function count(): Field<number | null> {
  return {
    initial: null,
    read: (given) => {
      const value = /^\d{1,15}$/.test(given) ? Number(given) : undefined;
      return value;
    },
    write: String,
  };
}

export function flag(initial = false): Field<boolean> {
  return {
    initial,
    read: (given) => (given === "1" ? true : given === "0" ? false : undefined),
    write: (value) => (value ? "1" : "0"),
  };
}

/** Names that contain no comma, in order. */
export function list(): Field<readonly string[]> {
  return {
    initial: [],
    read: (given) => given.split(",").filter((each) => each !== ""),
    write: (value) => value.join(","),
  };
}

/** An address stays short enough for every proxy: of more rows the last ones are kept. */
const MOST_FOLDS = 40;

/** Which rows were opened (`key`) or closed (`!key`) by hand, in order; keys are any text. */
export function folds(): Field<ReadonlyMap<string, boolean>> {
  return {
    initial: new Map(),
    read: (given) =>
      new Map(
        [...given.matchAll(/(!?)((?:\\[^]|[^,\\])+)(?:,|$)/g)].map(([, closed, key = ""]) => [key.replace(/\\([^])/g, "$1"), closed !== "!"] as const),
      ),
    write: (value) =>
      [...value]
        .slice(-MOST_FOLDS)
        .map(([key, isOpen]) => `${isOpen ? "" : "!"}${key.replace(/[\\,]|^!/g, "\\$&")}`)
        .join(","),
  };
}

export function decode<T>(codec: Codec<T>, params: URLSearchParams): T {
  const state = {} as T;
  for (const name of Object.keys(codec) as (keyof T & string)[]) {
    const given = params.get(name);
    const read = given === null ? undefined : codec[name].read(given);
    state[name] = read === undefined ? codec[name].initial : read;
  }
  return state;
}

/** The parameters of a state, in the codec's order; parameters of others in `rest` are kept. */
export function encode<T>(
  codec: Codec<T>,
  state: Partial<T>,
  rest: URLSearchParams = new URLSearchParams(),
): URLSearchParams {
  const params = new URLSearchParams();
  for (const name of Object.keys(codec) as (keyof T & string)[]) {
    const field = codec[name];
    const value = state[name];
    if (value === undefined) continue;
    const written = field.write(value);
    if (!isInitial(field, value, written)) params.set(name, written);
  }
  for (const [name, value] of rest) if (!(name in codec)) params.append(name, value);
  return params;
}

function isInitial<T>(field: Field<T>, value: T, written: string): boolean {
  if (value === field.initial) return true;
  return field.initial !== null && written === field.write(field.initial);
}

/** A path with parameters, such as `/instances?q=status%3Afailed`. */
export function link(path: string, params: URLSearchParams): string {
  const query = params.toString();
  return query ? `${path}?${query}` : path;
}

/** `path` with its parts percent-encoded: `path("instances", id)` is `/instances/…`. */
export function path(...parts: readonly string[]): string {
  return `/${parts.map(encodeURIComponent).join("/")}`;
}

/** The list of instances. */
export const INSTANCES = { q: text(), open: list() };
export type InstancesState = Decoded<typeof INSTANCES>;

export const INSTANCE_TABS = ["graph", "timeline", "log", "context", "children", "compensation"] as const;

/** One instance: one selection that all tabs share. */
export const INSTANCE = {
  tab: oneOf(INSTANCE_TABS, "graph"),
  step: optional(),
  /** Of the step: "2/0". */
  iteration: text(),
  attempt: count(),
  /** The log entry that is looked at. */
  entry: count(),
  /** The state is shown as it was after this entry; none: as it is now. */
  at: count(),
  part: oneOf(["summary", "input", "output", "error", "attempts", "logs", "config", "entry"], "summary"),
  /** Rows of the timeline that were opened or closed, where they would not be so by themselves. */
  open: folds(),
  /** Whether the newest row stays in sight. */
  follow: flag(true),
  /** Of the timeline: idle gaps are cut, the order of its rows, and the part that is shown alone. */
  gaps: oneOf(["cut", "whole"], "cut"),
  order: oneOf(["graph", "start"], "graph"),
  from: count(),
  to: count(),
  /** Of the log: a text, a kind of entries, and whether only those of the step are shown. */
  find: text(),
  kind: text(),
  own: flag(),
};
export type InstancePageState = Decoded<typeof INSTANCE>;

/** A definition: a version, beside another one in a comparison. */
export const DEFINITION = {
  version: count(),
  against: count(),
  view: oneOf(["graph", "outline", "json"], "graph"),
  step: optional(),
};
export type DefinitionState = Decoded<typeof DEFINITION>;

export const EVENTS = { pattern: text(), since: text(), event: optional() };
export type EventsState = Decoded<typeof EVENTS>;

export type Decoded<C> = { [K in keyof C]: C[K] extends Field<infer T> ? T : never };
