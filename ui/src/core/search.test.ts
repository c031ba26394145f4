import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { Random } from "../../tests/random";
import {
  bulkFilter,
  completeSearch,
  momentOf,
  readSearch,
  STATUSES,
  withTerm,
  writeSearch,
  type InstanceParams,
} from "./search";

/** One table for the search box and for `-q` of commands. */
const SHARED = JSON.parse(readFileSync(resolve(import.meta.dirname, "../../../tests/cli/searches.json"), "utf8")) as {
  now: string;
  found: [string, InstanceParams][];
  refused: [string, string, string][];
};
const NOW = new Date(SHARED.now);
const read = (text: string) => readSearch(text, NOW);
const params = (text: string) => {
  const { params, problems } = read(text);
  expect(problems).toEqual([]);
  return params;
};

test("qualifiers are the parameters of the list", () => {
  expect(params('status:failed workflow:order step:charge var.region=eu since:1h correlation:"A 1"')).toEqual({
    status: "FAILED",
    workflowId: "order",
    currentStep: "charge",
    variables: '{"region":"eu"}',
    createdFrom: "2026-11-17T11:00:00.000Z",
    correlationId: "A 1",
    roots: true,
  });
});

test.each(SHARED.found)("%s", (text, expected) => {
  expect(params(text)).toEqual(expected);
});

describe("a problem has its place and a remedy", () => {
  test.each(SHARED.refused)("%s", (text, place, message) => {
    const [problem] = read(text).problems;
    expect(problem?.message).toContain(message);
    expect(text.slice(problem?.from, problem?.to)).toBe(place);
    expect(problem?.advice).not.toBe("");
  });
});

test("what is written is read again as the same", () => {
  const random = new Random(5);
  const word = () => random.text().trim() || "x";
  const id = () => `0000000${random.below(9)}-0000-7000-8000-00000000000${random.below(9)}`;
  for (let round = 0; round < 500; round += 1) {
    const given: InstanceParams = {};
    if (random.chance(0.3)) given.status = STATUSES.filter(() => random.chance(0.5)).join(",") || "FAILED";
    const hasVariables = random.chance(0.4);
    if (hasVariables || random.chance(0.3)) given.workflowId = word();
    if (random.chance(0.3)) given.correlationId = word();
    if (random.chance(0.2)) given.key = word();
    if (random.chance(0.3)) given.currentStep = word();
    if (random.chance(0.2)) given.waitingFor = word();
    if (random.chance(0.2)) given.parentId = word();
    if (random.chance(0.2)) given.ids = `${id()},${id()}X`;
    if (random.chance(0.2)) given.createdFrom = new Date(1e12 + random.below(1e9)).toISOString();
    if (random.chance(0.2)) given.updatedBefore = new Date(1e12 + random.below(1e9)).toISOString();
    if (hasVariables) {
      const values = [word(), "", "7", "true", 7, -1.5, true, null, [word()], { a: word() }];
      given.variables = JSON.stringify({ region: random.pick(values), "order.id": random.pick(values) });
    }
    if (random.chance(0.5)) given.roots = true;
    const text = writeSearch(given);
    expect([text, read(text)]).toEqual([text, { params: given, problems: [] }]);
  }
});

test("a click sets one qualifier and leaves the others", () => {
  expect(withTerm('workflow:a status:failed "x y"', "status", "paused")).toBe('workflow:a "x y" status:paused');
  expect(withTerm("workflow:a status:failed", "status", null)).toBe("workflow:a");
});

test("what a bulk action cannot filter by is named", () => {
  expect(bulkFilter(params("status:failed workflow:a event:e var.b=1 changed-since:1h"))).toMatchObject({
    filter: { status: ["FAILED"], workflowId: "a", waitingFor: "e", roots: true },
    lacks: ["updatedFrom", "variables"],
  });
});

describe("completion", () => {
  const known = { workflow: ["order", "refund", "re order"], var: ["region"] };
  const complete = (marked: string) => {
    const cursor = marked.indexOf("|");
    const text = marked.replace("|", "");
    const { from, to, items } = completeSearch(text, cursor, known);
    return items.map((item) => text.slice(0, from) + item.text + text.slice(to));
  };

  test.each([
    ["sta|", ["status:"]],
    ["var|", ["var.region="]],
    ["status:fa| step:a", ["status:failed step:a"]],
    ["status:failed,pa|", ["status:failed,paused"]],
    ["workflow:re|", ["workflow:refund", 'workflow:"re order"']],
    ["workflow:fun|", ["workflow:refund"]],
    ["is:|", ["is:root", "is:any"]],
  ])("%s", (marked, expected) => {
    expect(complete(marked)).toEqual(expected);
  });

  test("after a space every qualifier is offered", () => {
    expect(complete("status:failed |").length).toBeGreaterThan(10);
  });

  test("a cursor anywhere in any text is answered", () => {
    const random = new Random(9);
    for (let round = 0; round < 300; round += 1) {
      const text = random.pick(["", "status:", "var.", 'workflow:"']) + random.text(12);
      const cursor = random.below(text.length + 1);
      const { from, to } = completeSearch(text, cursor, known);
      expect(from).toBeLessThanOrEqual(cursor);
      expect(to).toBeGreaterThanOrEqual(cursor);
      read(text);
    }
  });
});

test("a duration is counted back from now", () => {
  expect(momentOf("1h30m", NOW)).toBe("2026-11-17T10:30:00.000Z");
  expect(momentOf("2w", NOW)).toBe("2026-11-03T12:00:00.000Z");
  expect(momentOf("2026-13-45", NOW)).toBeNull();
});
