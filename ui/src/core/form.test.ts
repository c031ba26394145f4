import { describe, expect, test } from "vitest";
import {
  exampleValue,
  formOf,
  initialValue,
  problemsOf,
  readInput,
  spelledPath,
  valueAt,
  variantOf,
  withValue,
  type FormField,
} from "./form";
import type { Json } from "./json";

/** As Pydantic writes the schema of a model. */
const ORDER: Json = {
  $defs: {
    Address: {
      type: "object",
      properties: { street: { type: "string", title: "Street" }, zip: { type: "string", minLength: 4 } },
      required: ["street"],
    },
    Size: { enum: ["S", "M", "L"], type: "string", title: "Size" },
    Card: {
      type: "object",
      title: "Card",
      properties: { kind: { const: "card" }, number: { type: "string" } },
      required: ["kind", "number"],
    },
    Bill: {
      type: "object",
      title: "Bill",
      properties: { kind: { const: "bill" }, days: { type: "integer" } },
      required: ["kind", "days"],
    },
    Tree: { type: "object", properties: { left: { $ref: "#/$defs/Tree" }, name: { type: "string" } } },
  },
  type: "object",
  title: "Order",
  properties: {
    id: { type: "integer", exclusiveMinimum: 0, description: "Its number" },
    email: { anyOf: [{ type: "string", format: "email" }, { type: "null" }], default: null },
    address: { $ref: "#/$defs/Address" },
    size: { allOf: [{ $ref: "#/$defs/Size" }], default: "M" },
    items: { type: "array", items: { $ref: "#/$defs/Address" }, minItems: 1 },
    labels: { type: "object", additionalProperties: { type: "string" } },
    pay: { anyOf: [{ $ref: "#/$defs/Card" }, { $ref: "#/$defs/Bill" }] },
    tree: { $ref: "#/$defs/Tree" },
    other: {},
    gift: { type: "boolean", default: false },
    amount: { type: ["number", "null"] },
    place: { type: "array", prefixItems: [{ type: "number" }] },
  },
  required: ["id", "address", "items"],
};

const form = formOf(ORDER) as FormField & { kind: "object" };
const field = (name: string) => form.fields.find((each) => each.path[0] === name) as FormField;

test("a schema is a tree of fields", () => {
  expect(Object.fromEntries(form.fields.map((each) => [each.path[0], each.kind]))).toEqual({
    id: "number",
    email: "text",
    address: "object",
    size: "choice",
    items: "list",
    labels: "map",
    pay: "union",
    tree: "object",
    other: "json",
    gift: "flag",
    amount: "number",
    place: "json",
  });
  expect(field("id")).toMatchObject({ isInteger: true, least: 0, isAbove: true, help: "Its number", isRequired: true });
  expect(field("email")).toMatchObject({ format: "email", isNullable: true, isRequired: false });
  expect(field("size")).toMatchObject({ label: "Size", initial: "M" });
  expect(field("address")).toMatchObject({
    fields: [{ path: ["address", "street"], label: "Street", isRequired: true }, { path: ["address", "zip"] }],
  });
  expect(field("pay")).toMatchObject({ variants: [{ label: "Card" }, { label: "Bill" }] });
});

test("a schema that contains itself ends in a field of JSON", () => {
  const tree = field("tree") as FormField & { kind: "object" };
  expect(tree.fields.map((each) => each.kind)).toEqual(["json", "text"]);
  const list = { $defs: { T: { type: "array", items: { $ref: "#/$defs/T" } } }, $ref: "#/$defs/T" };
  expect(JSON.stringify(formOf(list))).toContain("it contains itself");
});

test.each([
  undefined,
  null,
  true,
  false,
  {},
  7,
  [],
  { $ref: "#/nowhere" },
  { $ref: "#" },
  { type: "spaceship" },
  { anyOf: [] },
  { not: {} },
  { type: [] },
  { $ref: "http://elsewhere/" },
  { allOf: [{ allOf: [{}] }] },
] as (Json | undefined)[])("%j has a form", (schema) => {
  const made = formOf(schema);
  exampleValue(made);
  initialValue(made);
  problemsOf(made, null);
});

test("a name that is required and not described is a field of JSON", () => {
  const made = formOf({ type: "object", properties: { a: { type: "string" } }, required: ["b"] });
  expect(made).toMatchObject({
    fields: [
      { path: ["a"], kind: "text", isRequired: false },
      { path: ["b"], kind: "json", isRequired: true },
    ],
  });
  expect(formOf({ required: ["c"] })).toMatchObject({ kind: "object", fields: [{ path: ["c"], kind: "json" }] });
});

test("a form begins with its defaults", () => {
  expect(initialValue(form)).toEqual({ email: null, address: {}, size: "M", items: [], gift: false });
});

test("an example fits its form", () => {
  const { place: _, other: __, ...example } = exampleValue(form) as Record<string, Json>;
  const lengthy = { ...example, address: { street: "s", zip: "1234" }, items: [{ street: "s", zip: "1234" }] };
  expect(problemsOf(form, lengthy)).toEqual([]);
  expect(exampleValue(formOf({ type: "string", examples: ["a"], default: "b" }))).toBe("a");
});

describe("edits", () => {
  test("a value is set and removed at its path, and the old one stays as it was", () => {
    const before = { a: { b: [1, 2] }, c: 1 };
    expect(withValue(before, ["a", "b", 1], 5)).toEqual({ a: { b: [1, 5] }, c: 1 });
    expect(withValue(before, ["a", "b", 0], undefined)).toEqual({ a: { b: [2] }, c: 1 });
    expect(withValue(before, ["c"], undefined)).toEqual({ a: { b: [1, 2] } });
    expect(withValue(undefined, ["x", "y"], 1)).toEqual({ x: { y: 1 } });
    expect(before).toEqual({ a: { b: [1, 2] }, c: 1 });
  });

  test("a name that objects have by nature is a name like any other", () => {
    const value = withValue({}, ["__proto__"], 1);
    expect(JSON.stringify(value)).toBe('{"__proto__":1}');
    expect(valueAt({}, ["toString"])).toBeUndefined();
  });

  test.each([
    ["id", "12", { value: 12 }],
    ["id", "1e3", { value: 1000 }],
    ["id", "twelve", { problem: "This is not a number." }],
    ["id", "", { value: undefined }],
    ["email", "", { value: undefined }],
    ["email", "007", { value: "007" }],
    ["other", '{"a":1}', { value: { a: 1 } }],
  ])("%s: %j", (name, text, expected) => {
    expect(readInput(field(name), text)).toEqual(expected);
  });
});

test("problems have the paths of their fields", () => {
  const given = { id: 0, address: { zip: "1" }, items: [], size: "XL", pay: { kind: "bill" }, labels: { a: 1 } };
  const found = problemsOf(form, given).map(({ path, message }) => `${spelledPath(path)} ${message}`);
  expect(found).toEqual([
    "$.id It has to be above 0.",
    "$.address.street A value is required.",
    "$.address.zip At least 4 characters are expected.",
    "$.size Choose one of the values.",
    "$.items At least 1 items are expected.",
    "$.labels.a Text is expected.",
    "$.pay.days A value is required.",
  ]);
  expect(variantOf(field("pay") as FormField & { kind: "union" }, { kind: "bill" })).toBe(1);
});
