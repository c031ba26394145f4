/** What a form shows of values: what a new one begins with, what any text stands for, and where problems belong. */

import { initialValue, spelledPath, type FormField, type Path } from "./form";
import type { Json } from "./json";

/** What an added item, entry or variant begins with. */
export function blankValue(field: FormField): Json {
  const initial = initialValue({ ...field, isRequired: true });
  if (initial !== undefined) return initial;
  switch (field.kind) {
    case "text":
      return "";
    case "number":
      return (field.least ?? 0) + (field.isAbove ? 1 : 0);
    case "flag":
      return false;
    case "choice":
      return field.options[0]?.value ?? null;
    case "union":
      return field.variants[0] ? blankValue(field.variants[0].field) : null;
    case "object":
    case "map":
      return {};
    case "list":
      return [];
    case "constant":
      return field.value;
    case "json":
      return null;
  }
}

/** The value of a field that takes any: JSON where the text is some, else the text itself. */
export function readAny(text: string): Json | undefined {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

/** The text of any value, such that `readAny` gives the value again. */
export function writtenAny(value: Json | undefined): string {
  if (value === undefined) return "";
  if (typeof value !== "string") return JSON.stringify(value, null, typeof value === "object" ? 2 : 0);
  return readAny(value) === value ? value : JSON.stringify(value);
}

/** "text", "number", "object": which kind of value a text was read as. */
export function kindOfValue(value: Json | undefined): string {
  if (value === undefined) return "no value";
  if (value === null) return "null";
  if (Array.isArray(value)) return "list";
  const kind = typeof value;
  return kind === "string" ? "text" : kind === "boolean" ? "true or false" : kind;
}

/** Whether `$.items[0].name` is at or below `$.items[0]`. */
export function isUnder(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}.`) || path.startsWith(`${place}[`);
}

/** Problems of a request whose form is only a part of it: `$.input.amount` is `$.amount` of the form. */
export function problemsUnder<P extends { path: string }>(problems: readonly P[], place: string): { inside: P[]; outside: P[] } {
  const inside = problems.filter((each) => isUnder(each.path, place)).map((each) => ({ ...each, path: `$${each.path.slice(place.length)}` }));
  return { inside, outside: problems.filter((each) => !isUnder(each.path, place)) };
}

/** The problems to show at a field itself: those at its path, and those below that no part of it shows. */
export function problemsAt<P extends { path: string }>(problems: readonly P[], path: Path, parts: readonly Path[]): P[] {
  const place = spelledPath(path);
  const below = parts.map(spelledPath);
  return problems.filter((each) => isUnder(each.path, place) && !below.some((part) => isUnder(each.path, part)));
}

const MISSING = /^("(?:[^"\\]|\\.)*") is a required property/;

/** A missing property is reported at the object that lacks it: it belongs to the property's own field. */
export function atTheirFields<P extends { path: string; message: string }>(problems: readonly P[]): P[] {
  return problems.map((each) => {
    const name = MISSING.exec(each.message)?.[1];
    return name === undefined ? each : { ...each, path: `${each.path}${spelledPath([JSON.parse(name) as string]).slice(1)}` };
  });
}
