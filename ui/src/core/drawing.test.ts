import { expect, test } from "vitest";
import { golden, NAMES } from "../../tests/golden";
import { diffDefinitions } from "./diff";
import { drawn, kindOf } from "./drawing";
import { fold } from "./fold";
import { graphOf } from "./graph";
import { layoutOf } from "./layout";
import { planOf } from "./plan";

test("a definition is drawn without statuses", () => {
  const { plan } = golden("order_retried");
  const { boxes: nodes, lines: edges } = drawn(plan, layoutOf(plan.graph));
  expect(nodes.every((node) => !("status" in node))).toBe(true);
  expect(edges.every((edge) => !("isTaken" in edge))).toBe(true);
});

test("an instance is drawn at every moment, with the statuses that the server shows", () => {
  for (const name of NAMES) {
    const { id, plan, log } = golden(name);
    const layout = layoutOf(plan.graph, { compensations: true });
    for (const at of [0, Math.floor(log.length / 2), log.length]) {
      const state = fold(plan, id, log, at);
      for (const node of drawn(plan, layout, { state }).boxes) {
        if (!node.frame) expect(node.status).toBe(state.activations.get(node.id)?.status ?? node.status);
      }
    }
  }
});

test("loops show how far they are, joins what has arrived, steps their attempts", () => {
  const details = NAMES.flatMap((name) => {
    const { id, plan, log } = golden(name);
    const layout = layoutOf(plan.graph);
    return log.flatMap((_, index) =>
      drawn(plan, layout, { state: fold(plan, id, log, index) }).boxes.map((node) => node.detail ?? ""),
    );
  });
  for (const shape of [/^\d+ of \d+$/, /^\d of \d arrived$/, /^attempt 2/, /^dead-path$/]) {
    expect(details.some((detail) => shape.test(detail))).toBe(true);
  }
});

test("edges that were taken and those that are dead differ from those to come", () => {
  const { id, plan, log } = golden("passed_over");
  const taken = drawn(plan, layoutOf(plan.graph), { state: fold(plan, id, log) }).lines.map((edge) => edge.isTaken);
  expect(taken).toContain(true);
  expect(drawn(plan, layoutOf(plan.graph), { state: fold(plan, id, log, 2) }).lines[0]?.isTaken).toBeUndefined();
});

test("what differs from another version is marked", () => {
  const before = {
    steps: [
      { stepId: "a", type: "TASK", taskId: "t", transitions: { default: "b" } },
      { stepId: "b", type: "TASK" },
    ],
  };
  const after = {
    steps: [
      { stepId: "a", type: "TASK", taskId: "u", transitions: { default: "c" } },
      { stepId: "c", type: "NEW_TYPE" },
    ],
  };
  const plan = planOf(graphOf(after));
  const { boxes: nodes, lines: edges } = drawn(plan, layoutOf(plan.graph), { diff: diffDefinitions(before, after) });
  expect(nodes.map(({ id, change, kind }) => [id, change, kind])).toEqual([
    ["a", "changed", "task u"],
    ["c", "added", "NEW_TYPE"],
  ]);
  expect(edges[0]?.change).toBe("added");
  expect(kindOf("toString")).toBe("toString");
});
