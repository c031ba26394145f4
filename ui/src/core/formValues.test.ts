import { expect, test } from "vitest";

import { formOf, problemsOf } from "./form";
import { atTheirFields, blankValue, kindOfValue, problemsAt, problemsUnder, readAny, writtenAny } from "./formValues";
import type { Json } from "./json";
import { laidOut, readText, writeText } from "./jsonText";

test.each<[Json, string]>([
  ["plain", "plain"],
  ["123", '"123"'],
  ["null", '"null"'],
  ["{", "{"],
  [123, "123"],
  [null, "null"],
  [{ a: [1] }, '{\n  "a": [\n    1\n  ]\n}'],
])("any value is written so that it is read as the same: %j", (value, text) => {
  expect(writtenAny(value)).toBe(text);
  expect(readAny(text)).toEqual(value);
});

test("an empty text is no value", () => {
  expect(readAny("  ")).toBeUndefined();
  expect(kindOfValue(undefined)).toBe("no value");
});

test.each<[Json, Json]>([
  [{ type: "string" }, ""],
  [{ type: "integer", minimum: 3 }, 3],
  [{ type: "boolean" }, false],
  [{ enum: ["b", "a"] }, "b"],
  [{ type: "array", items: { type: "string" } }, []],
  [{ type: "object", required: ["a"], properties: { a: { const: 5 }, b: { type: "string" } } }, { a: 5 }],
  [{ oneOf: [{ type: "number" }, { type: "string" }] }, 0],
  [{ type: "string", default: "x" }, "x"],
])("an added item begins with a value of its kind: %j", (schema, expected) => {
  expect(blankValue(formOf(schema))).toEqual(expected);
});

test("problems of a request are those of its form, from there on", () => {
  const problems = [{ path: "$.input.a[0]" }, { path: "$.inputs" }, { path: "$.priority" }, { path: "$.input" }];
  expect(problemsUnder(problems, "$.input")).toEqual({ inside: [{ path: "$.a[0]" }, { path: "$" }], outside: [{ path: "$.inputs" }, { path: "$.priority" }] });
});

test("a problem stands at the innermost field that is shown", () => {
  const problems = [{ path: "$.a" }, { path: "$.a.b" }, { path: "$.a.c[0]" }, { path: "$.ab" }];
  expect(problemsAt(problems, ["a"], [["a", "b"]])).toEqual([{ path: "$.a" }, { path: "$.a.c[0]" }]);
});

test("a missing property is a problem of its own field", () => {
  const given = [
    { path: "$", message: '"order id" is a required property' },
    { path: "$.a", message: '"b" is shorter than 2 characters' },
  ];
  expect(atTheirFields(given).map(({ path }) => path)).toEqual(['$["order id"]', "$.a"]);
});

test("what a form says is missing is where the service says it", () => {
  const form = formOf({ type: "object", required: ["a"], properties: { a: { type: "string" } } });
  expect(problemsOf(form, {}).map(({ path }) => path)).toEqual([["a"]]);
});

test("a text that is no JSON is kept, to be mended", () => {
  expect(laidOut('{"a":1}')).toBe('{\n  "a": 1\n}');
  expect(laidOut("{a")).toBe("{a");
  expect(readText("{a").isValid).toBe(false);
  expect(readText(" ")).toEqual({ isValid: true, value: undefined });
  expect(writeText(undefined)).toBe("");
});
