/**
 * JSON Schema → the fields of a form: as Pydantic and people write it ($ref and $defs, anyOf with
 * null, enums, arrays, maps, nested objects, formats). What cannot be shown as fields is one field
 * of JSON, so that every schema has a form, and every value can be given.
 */

import { asArray, asNumber, asObject, asText, isObject, sameJson, texts, type Json, type JsonObject } from "./json";

export type Path = readonly (string | number)[];

interface Common {
  /** From the root of the form; of an item of a list or a map, from its item on. */
  path: Path;
  /** The last part of the path, as a person reads it. */
  label: string;
  help: string | null;
  isRequired: boolean;
  /** Whether null is a value of it. */
  isNullable: boolean;
  initial: Json | undefined;
  examples: Json[];
}

export type FormField = Common &
  (
    | {
        kind: "text";
        /** email, uri, date, date-time, time, uuid, duration, password, or another; null: plain. */
        format: string | null;
        least: number | null;
        most: number | null;
        /** To be shown: the server alone checks it, since a pattern can be made to run for ever. */
        pattern: string | null;
      }
    | {
        kind: "number";
        isInteger: boolean;
        least: number | null;
        most: number | null;
        /** Whether `least` and `most` themselves are excluded. */
        isAbove: boolean;
        isBelow: boolean;
        step: number | null;
      }
    | { kind: "flag" }
    | { kind: "choice"; options: { label: string; value: Json }[] }
    | { kind: "constant"; value: Json }
    | { kind: "object"; fields: FormField[]; allowsOthers: boolean }
    | { kind: "list"; item: FormField; least: number | null; most: number | null; isUnique: boolean }
    | { kind: "map"; value: FormField }
    | { kind: "union"; variants: { label: string; field: FormField }[] }
    | { kind: "json"; reason: string }
  );

/** The form of a schema; of none, one field of JSON. */
export function formOf(schema: Json | undefined): FormField {
  return new Reader(schema).field(schema ?? true, [], "input", true, []);
}

class Reader {
  private readonly root: JsonObject;

  constructor(root: Json | undefined) {
    this.root = asObject(root);
  }

  field(given: Json, path: Path, name: string, isRequired: boolean, seen: readonly string[]): FormField {
    const { schema, refs, isNullable } = this.resolved(given, seen);
    const common: Common = {
      path,
      label: asText(schema["title"]) ?? name,
      help: asText(schema["description"]),
      isRequired,
      isNullable,
      initial: schema["default"],
      examples: [...asArray(schema["examples"]), ...("example" in schema ? [schema["example"] as Json] : [])],
    };
    const json = (reason: string): FormField => ({ ...common, kind: "json", reason });
    if (refs === null) return json("it contains itself");
    if ("const" in schema) return { ...common, kind: "constant", value: schema["const"] as Json };
    if (Array.isArray(schema["enum"])) return { ...common, kind: "choice", options: optionsOf(schema) };
    const variants = asArray(schema["anyOf"] ?? schema["oneOf"]);
    if (variants.length > 0) return this.union(common, variants, refs);
    if (["allOf", "not", "if", "prefixItems", "patternProperties", "$dynamicRef"].some((each) => each in schema)) {
      return json("its schema combines conditions");
    }
    switch (typeOf(schema)) {
      case "string":
        return {
          ...common,
          kind: "text",
          format: asText(schema["format"]) ?? (schema["writeOnly"] === true ? "password" : null),
          least: asNumber(schema["minLength"]),
          most: asNumber(schema["maxLength"]),
          pattern: asText(schema["pattern"]),
        };
      case "integer":
      case "number":
        return { ...common, kind: "number", ...boundsOf(schema) };
      case "boolean":
        return { ...common, kind: "flag" };
      case "object":
        return this.object(common, schema, refs);
      case "array":
        return this.list(common, schema);
      case "null":
        return { ...common, kind: "constant", value: null };
      default:
        return json("its schema allows any value");
    }
  }

  private object(common: Common, schema: JsonObject, refs: readonly string[]): FormField {
    const properties = Object.entries(asObject(schema["properties"]));
    const required = new Set(texts(schema["required"]));
    // A name that is required and not described is anything.
    for (const name of required) {
      if (!properties.some(([known]) => known === name)) properties.push([name, true]);
    }
    const others = schema["additionalProperties"];
    if (properties.length === 0) {
      if (!isObject(others) || Object.keys(others).length === 0) {
        return { ...common, kind: "json", reason: "its schema allows any names" };
      }
      return { ...common, kind: "map", value: this.field(others, [], "value", true, []) };
    }
    const fields = properties.map(([name, inner]) =>
      this.field(inner, [...common.path, name], name, required.has(name), refs),
    );
    return { ...common, kind: "object", fields, allowsOthers: others !== false };
  }

  private list(common: Common, schema: JsonObject): FormField {
    const items = schema["items"];
    if (items === undefined || typeof items === "boolean" || Array.isArray(items)) {
      return { ...common, kind: "json", reason: "its schema allows any items" };
    }
    const item = this.item(items);
    if (item === null) return { ...common, kind: "json", reason: "it contains itself" };
    return {
      ...common,
      kind: "list",
      item,
      least: asNumber(schema["minItems"]),
      most: asNumber(schema["maxItems"]),
      isUnique: schema["uniqueItems"] === true,
    };
  }

  /** The field of an item; null where items contain lists of themselves. */
  private item(items: Json): FormField | null {
    if (this.depth > 8) return null;
    this.depth += 1;
    const field = this.field(items, [], "item", true, []);
    this.depth -= 1;
    return field;
  }

  private depth = 0;

  private union(common: Common, variants: Json[], refs: readonly string[]): FormField {
    const fields = variants.map((variant, index) => {
      const field = this.field(variant, common.path, `option ${index + 1}`, common.isRequired, refs);
      const titled = asText(this.resolved(variant, []).schema["title"]);
      return { label: titled ?? labelOf(field, index), field };
    });
    const choices = fields.map(({ field }) => field);
    if (choices.every((field) => field.kind === "constant")) {
      const options = choices.map((field) => ({ label: spelled(field.value), value: field.value }));
      return { ...common, kind: "choice", options };
    }
    return { ...common, kind: "union", variants: fields };
  }

  /** A schema without its references and without null; `refs` is null where it contains itself. */
  private resolved(
    given: Json,
    seen: readonly string[],
  ): { schema: JsonObject; refs: readonly string[] | null; isNullable: boolean } {
    let schema = asObject(given);
    let refs: readonly string[] = seen;
    let isNullable = false;
    for (let turns = 0; turns < 100; turns += 1) {
      const ref = asText(schema["$ref"]);
      if (ref !== null) {
        if (refs.includes(ref)) return { schema: rest(schema, "$ref"), refs: null, isNullable };
        refs = [...refs, ref];
        schema = { ...asObject(this.at(ref)), ...rest(schema, "$ref") };
        continue;
      }
      const all = asArray(schema["allOf"]);
      if (all.length === 1) {
        schema = { ...asObject(all[0]), ...rest(schema, "allOf") };
        continue;
      }
      const name = ["anyOf", "oneOf"].find((each) => Array.isArray(schema[each]));
      if (name !== undefined) {
        const variants = asArray(schema[name]);
        const kept = variants.filter((each) => asObject(each)["type"] !== "null");
        isNullable ||= kept.length < variants.length;
        const only = kept[0];
        if (kept.length === 1 && only !== undefined) {
          schema = { ...asObject(only), ...rest(schema, name) };
          continue;
        }
        return { schema: { ...schema, [name]: kept }, refs, isNullable };
      }
      if (Array.isArray(schema["type"])) {
        const types = texts(schema["type"]);
        const kept = types.filter((each) => each !== "null");
        isNullable ||= kept.length < types.length;
        const only = kept.length === 1 ? (kept[0] as string) : null;
        if (only !== null) schema = { ...schema, type: only };
        else schema = { ...rest(schema, "type"), anyOf: kept.map((type) => ({ ...rest(schema, "type"), type })) };
        continue;
      }
      break;
    }
    return { schema, refs, isNullable };
  }

  private at(ref: string): Json | undefined {
    if (!ref.startsWith("#")) return undefined;
    let found: Json | undefined = this.root;
    for (const part of ref.slice(1).split("/").slice(1)) {
      const name = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
      found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
    }
    return found;
  }
}

function rest(schema: JsonObject, name: string): JsonObject {
  const { [name]: _, ...others } = schema;
  return others;
}

function typeOf(schema: JsonObject): string | null {
  const type = asText(schema["type"]);
  if (type !== null) return type;
  if (["properties", "additionalProperties", "required"].some((name) => name in schema)) return "object";
  return "items" in schema ? "array" : null;
}

function boundsOf(schema: JsonObject) {
  const above = asNumber(schema["exclusiveMinimum"]);
  const below = asNumber(schema["exclusiveMaximum"]);
  return {
    isInteger: schema["type"] === "integer",
    least: above ?? asNumber(schema["minimum"]),
    most: below ?? asNumber(schema["maximum"]),
    isAbove: above !== null,
    isBelow: below !== null,
    step: asNumber(schema["multipleOf"]),
  };
}

function optionsOf(schema: JsonObject): { label: string; value: Json }[] {
  const names = texts(schema["enumNames"] ?? schema["x-enum-varnames"]);
  return asArray(schema["enum"]).map((value, index) => ({ label: names[index] ?? spelled(value), value }));
}

function labelOf(field: FormField, index: number): string {
  if (field.kind === "constant") return spelled(field.value);
  return field.kind === "json" ? `option ${index + 1}` : field.kind;
}

function spelled(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The value at a path; undefined where there is none. */
export function valueAt(value: Json | undefined, path: Path): Json | undefined {
  let found = value;
  for (const part of path) {
    if (Array.isArray(found) && typeof part === "number") found = found[part];
    else if (isObject(found) && Object.hasOwn(found, part)) found = found[part];
    else return undefined;
  }
  return found;
}

/** The value with another one at a path; undefined removes it. What is on the way is made. */
export function withValue(value: Json | undefined, path: Path, next: Json | undefined): Json | undefined {
  const [part, ...inner] = path;
  if (part === undefined) return next;
  if (typeof part === "number") {
    const items = [...asArray(value)];
    const item = withValue(items[part], inner, next);
    if (item === undefined) items.splice(part, 1);
    else if (part <= items.length) items[part] = item;
    return items;
  }
  const names = { ...asObject(value) };
  const item = withValue(Object.hasOwn(names, part) ? names[part] : undefined, inner, next);
  delete names[part];
  if (item === undefined) return names;
  // In its old place, and also where it is called `__proto__`.
  const entries = Object.entries(asObject(value));
  const place = entries.findIndex(([name]) => name === part);
  if (place < 0) entries.push([part, item]);
  else entries[place] = [part, item];
  return Object.fromEntries(entries);
}

/** What a form begins with: defaults, and what can have one value only. */
export function initialValue(field: FormField): Json | undefined {
  if (field.initial !== undefined) return field.initial;
  if (field.kind === "constant") return field.isRequired ? field.value : undefined;
  if (field.kind === "object") {
    const value = made(field.fields, initialValue);
    return field.isRequired || Object.keys(value).length > 0 ? value : undefined;
  }
  if (field.kind === "list" && field.isRequired) return [];
  if (field.kind === "map" && field.isRequired) return {};
  return undefined;
}

/** A value that shows what is expected: examples, defaults, or the simplest value of its kind. */
export function exampleValue(field: FormField): Json {
  if (field.examples[0] !== undefined) return field.examples[0];
  if (field.initial !== undefined) return field.initial;
  switch (field.kind) {
    case "text":
      return EXAMPLES[field.format ?? ""] ?? "";
    case "number":
      return field.least === null ? Math.min(0, field.most ?? 0) : field.least + (field.isAbove ? 1 : 0);
    case "flag":
      return false;
    case "choice":
      return field.options[0]?.value ?? null;
    case "constant":
      return field.value;
    case "object":
      return made(field.fields, exampleValue);
    case "list":
      return [exampleValue(field.item)];
    case "map":
      return { name: exampleValue(field.value) };
    case "union":
      return field.variants[0] ? exampleValue(field.variants[0].field) : null;
    case "json":
      return null;
  }
}

const EXAMPLES: Record<string, string> = {
  email: "ann@example.com",
  uri: "https://example.com/",
  date: "2026-01-31",
  time: "09:00:00",
  "date-time": "2026-01-31T09:00:00Z",
  uuid: "00000000-0000-4000-8000-000000000000",
  duration: "PT1H",
};

function made(fields: readonly FormField[], value: (field: FormField) => Json | undefined): JsonObject {
  const entries = fields.map((field): [string, Json | undefined] => [String(field.path.at(-1)), value(field)]);
  return Object.fromEntries(entries.filter((entry): entry is [string, Json] => entry[1] !== undefined));
}

/** What an input element shows for a value. */
export function writtenInput(value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The value that the text of an input element stands for; undefined: none is given. */
export function readInput(field: FormField, text: string): { value: Json | undefined } | { problem: string } {
  if (field.kind === "text") {
    if (text === "" && !field.isRequired) return { value: undefined };
    return { value: text };
  }
  if (text.trim() === "") return field.isNullable && field.isRequired ? { value: null } : { value: undefined };
  if (field.kind === "number") {
    const value = Number(text);
    if (!/^\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*$/i.test(text) || !Number.isFinite(value)) {
      return { problem: "This is not a number." };
    }
    return { value };
  }
  try {
    return { value: JSON.parse(text) as Json };
  } catch (error) {
    return { problem: `This is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

export interface FormProblem {
  path: Path;
  message: string;
}

/** What a form can tell before the server is asked, which checks the whole schema. */
export function problemsOf(field: FormField, value: Json | undefined, at: Path = []): FormProblem[] {
  const wrong = (message: string): FormProblem[] => [{ path: at, message }];
  if (value === undefined) return field.isRequired ? wrong("A value is required.") : [];
  if (value === null && field.isNullable) return [];
  switch (field.kind) {
    case "text":
      if (typeof value !== "string") return wrong("Text is expected.");
      return textProblems(field, value).flatMap(wrong);
    case "number":
      if (typeof value !== "number") return wrong("A number is expected.");
      return numberProblems(field, value).flatMap(wrong);
    case "flag":
      return typeof value === "boolean" ? [] : wrong("True or false is expected.");
    case "choice":
      return field.options.some((each) => sameJson(each.value, value)) ? [] : wrong("Choose one of the values.");
    case "constant":
      return sameJson(field.value, value) ? [] : wrong(`Only ${spelled(field.value)} is allowed.`);
    case "object":
      if (!isObject(value)) return wrong("An object is expected.");
      return field.fields.flatMap((each) => {
        const name = String(each.path.at(-1));
        return problemsOf(each, valueAt(value, [name]), [...at, name]);
      });
    case "list": {
      if (!Array.isArray(value)) return wrong("A list is expected.");
      const { least, most } = field;
      const few = least !== null && value.length < least ? wrong(`At least ${least} items are expected.`) : [];
      const many = most !== null && value.length > most ? wrong(`At most ${most} items are allowed.`) : [];
      return [...few, ...many, ...value.flatMap((each, index) => problemsOf(field.item, each, [...at, index]))];
    }
    case "map":
      if (!isObject(value)) return wrong("An object is expected.");
      return Object.entries(value).flatMap(([name, each]) => problemsOf(field.value, each, [...at, name]));
    case "union": {
      const found = field.variants.map((variant) => problemsOf(variant.field, value, at));
      return found.some((each) => each.length === 0) ? [] : (found[variantOf(field, value)] ?? []);
    }
    case "json":
      return [];
  }
}

/** Which variant of a union a value is of: the one with the fewest problems. */
export function variantOf(field: FormField & { kind: "union" }, value: Json | undefined): number {
  let best = 0;
  let least = Number.POSITIVE_INFINITY;
  field.variants.forEach((variant, index) => {
    const count = value === undefined ? 0 : problemsOf(variant.field, value).length;
    if (count < least) [best, least] = [index, count];
  });
  return best;
}

function textProblems(field: FormField & { kind: "text" }, value: string): string[] {
  const length = [...value].length;
  const problems: string[] = [];
  if (field.least !== null && length < field.least) problems.push(`At least ${field.least} characters are expected.`);
  if (field.most !== null && length > field.most) problems.push(`At most ${field.most} characters are allowed.`);
  return problems;
}

function numberProblems(field: FormField & { kind: "number" }, value: number): string[] {
  const { least, most, isAbove, isBelow } = field;
  const problems: string[] = [];
  if (field.isInteger && !Number.isInteger(value)) problems.push("A whole number is expected.");
  if (least !== null && (isAbove ? value <= least : value < least)) {
    problems.push(isAbove ? `It has to be above ${least}.` : `At least ${least} is expected.`);
  }
  if (most !== null && (isBelow ? value >= most : value > most)) {
    problems.push(isBelow ? `It has to be below ${most}.` : `At most ${most} is allowed.`);
  }
  return problems;
}

/** `$.items[0].name`, as the server names places: its problems are shown at their fields. */
export function spelledPath(path: Path): string {
  const part = (each: string | number) => {
    if (typeof each === "number") return `[${each}]`;
    return /^[A-Za-z_$][\w$]*$/.test(each) ? `.${each}` : `[${JSON.stringify(each)}]`;
  };
  return `$${path.map(part).join("")}`;
}
