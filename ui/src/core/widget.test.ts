import { expect, test } from "vitest";

import { contentOf, isOpen, numberText, rangeOf } from "./widget";

const answer = (widgetType: string, data: unknown, more: object = {}) => ({ widgetType, data, title: "output", format: "", status: "RUNNING", ready: true, ...more });

test("values of each type become text", () => {
  expect(contentOf(answer("number", { value: 1234.56 }))).toEqual({ kind: "number", text: "1,234.6" });
  expect(contentOf(answer("text", { text: "<b>hi</b>" }))).toEqual({ kind: "text", text: "<b>hi</b>" });
  expect(contentOf(answer("table", { columns: ["a"], rows: [[1], [null], [{ b: 2 }]] }))).toEqual({ kind: "table", columns: ["a"], rows: [["1"], ["–"], ['{"b":2}']], more: 0 });
  expect(contentOf(answer("chart", { series: [{ name: "s", points: [{ x: 0, y: 2 }, { x: 1, y: "no" }] }] }))).toEqual({
    kind: "chart",
    series: [{ name: "s", points: [{ x: "0", y: 2 }, { x: "1", y: null }] }],
  });
});

test("percentages and whole numbers are written as such", () => {
  expect(numberText(12.3456, "percent")).toBe("12.346 %");
  expect(numberText(7, "integer")).toBe("7");
});

test("a value that is missing, wrong, or of an unknown type is said, and nothing breaks", () => {
  expect(contentOf(answer("number", null, { ready: false }))).toEqual({ kind: "nothing", text: "Waiting for the value", isError: false });
  expect(contentOf(answer("number", null, { error: "it is a text" }))).toMatchObject({ kind: "nothing", isError: true });
  expect(contentOf(answer("gauge", {}))).toMatchObject({ kind: "nothing", isError: true });
  expect(contentOf(answer("table", { columns: 1, rows: "x" }))).toEqual({ kind: "table", columns: [], rows: [], more: 0 });
});

test("tables are bounded", () => {
  const shown = contentOf(answer("table", { columns: ["a"], rows: Array.from({ length: 500 }, () => ["x".repeat(1_000)]) }));
  expect(shown).toMatchObject({ more: 300 });
  expect(shown.kind === "table" && shown.rows[0]?.[0]?.length).toBe(301);
});

test("the range of a chart has 0 and is never empty", () => {
  expect(rangeOf([])).toEqual({ least: 0, most: 1 });
  expect(rangeOf([{ name: "", points: [{ x: "", y: -2 }, { x: "", y: null }] }])).toEqual({ least: -2, most: 0 });
});

test("an instance that has ended does not change", () => {
  expect([isOpen({ status: "RUNNING" }), isOpen({ status: "COMPLETED" })]).toEqual([true, false]);
});
