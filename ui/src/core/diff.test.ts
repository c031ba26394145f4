import { expect, test } from "vitest";
import { golden } from "../../tests/golden";
import { Random } from "../../tests/random";
import { contextDiff, diffDefinitions, diffJson, isSame, type Change } from "./diff";
import { fold } from "./fold";
import { sameJson, type Json } from "./json";

test("changes are named by their paths", () => {
  const before = { a: 1, b: { c: [1, 2, 3] }, "odd name": true, steps: [{ id: "x", n: 1 }, { id: "y" }] };
  const after = { a: 1, b: { c: [1, 9, 3] }, steps: [{ id: "y" }, { id: "x", n: 2 }, { id: "z" }] };
  expect(diffJson(before, after).map(({ kind, path }) => `${kind} ${path}`)).toEqual([
    "changed $.b.c[1]",
    'removed $["odd name"]',
    "changed $.steps[1].n",
    "added $.steps[2]",
  ]);
});

test("an item in the middle of a list does not change the rest of it", () => {
  expect(diffJson([1, 2, 3], [1, 5, 2, 3]).map(({ kind, path }) => `${kind} ${path}`)).toEqual(["added $[1]"]);
  expect(diffJson([1, 2, 3], [1, 3]).map(({ kind, path }) => `${kind} ${path}`)).toEqual(["removed $[1]"]);
});

test("there are changes exactly where values differ", () => {
  const random = new Random(2);
  const value = (depth: number): Json => {
    const kind = random.below(depth > 0 ? 6 : 4);
    if (kind === 4) return Array.from({ length: random.below(3) }, () => value(depth - 1));
    if (kind === 5)
      return Object.fromEntries(
        ["a", "b", "id"].filter(() => random.chance(0.6)).map((name) => [name, value(depth - 1)]),
      );
    return random.pick([null, 1, "x", true]);
  };
  for (let round = 0; round < 500; round += 1) {
    const [before, after] = [value(3), value(3)];
    const changes: Change[] = diffJson(before, after);
    const isEqual = sameJson(before, after);
    // Items with ids may have changed places only.
    if (isEqual) expect(changes).toEqual([]);
    else if (!JSON.stringify(before).includes('"id"')) expect(changes.length).toBeGreaterThan(0);
  }
});

const STEPS = {
  id: "w",
  name: "W",
  steps: [
    { stepId: "a", type: "TASK", taskId: "t", retry: { maxAttempts: 3 }, transitions: { default: "b" } },
    { stepId: "b", type: "TASK", taskId: "t" },
  ],
};

test("definitions are compared by their steps", () => {
  const diff = diffDefinitions(STEPS, {
    ...STEPS,
    options: { timeout: "P1D" },
    steps: [
      { stepId: "a", type: "TASK", taskId: "t", retry: { maxAttempts: 5 }, transitions: { default: "c" } },
      { stepId: "c", type: "TASK", taskId: "t" },
    ],
  });
  expect(diff).toMatchObject({
    added: ["c"],
    removed: ["b"],
    changed: [{ id: "a", changes: [{ path: "$.config.retry.maxAttempts", before: 3, after: 5 }] }],
    addedEdges: ["a:default>c"],
    removedEdges: ["a:default>b"],
    rest: [{ path: "$.options", kind: "added" }],
  });
});

test("the same workflow in another form is the same", () => {
  const graph = {
    id: "w",
    title: "W",
    nodes: [
      { id: "a", type: "task", config: { taskId: "t", retry: { maxAttempts: 3 } }, position: { x: 1, y: 1 } },
      { id: "b", type: "task", config: { taskId: "t" } },
    ],
    edges: [{ source: "a", target: "b" }],
  };
  expect(isSame(diffDefinitions(STEPS, graph))).toBe(true);
});

test("the context of two moments differs by what was set between them", () => {
  const { id, plan, log } = golden("order_paid_and_shipped");
  const whole = fold(plan, id, log);
  const changes = contextDiff(fold(plan, id, log, 2), whole);
  expect(changes.map((each) => each.name)).toEqual([...whole.variables.keys()].sort());
  expect(changes.every((each) => each.kind === "added" && each.after!.seq > 2)).toBe(true);
  expect(contextDiff(whole, whole)).toEqual([]);
});
