import { expect, test } from "vitest";
import { golden, NAMES } from "../../tests/golden";
import { fold } from "./fold";
import { inputOf, resolved } from "./stepInput";

const INPUT = { id: 7, who: { name: "Ann" }, items: [{ n: 1 }], "odd name": true };

test.each([
  ["{{ctx.input.id}}", 7],
  ["{{ workflow.input.who?.name }}", "Ann"],
  [" {{ctx.input.id}} ", " 7 "],
  ["order {{ctx.input.id}} of {{ctx.input.who}}", 'order 7 of {"name":"Ann"}'],
  ["{{ctx.input.items[0].n}}", 1],
  ['{{ctx.input["odd name"]}}', true],
  ["{{ctx.input}}", INPUT],
  [
    { a: ["{{ctx.input.id}}"], b: 1, c: "plain" },
    { a: [7], b: 1, c: "plain" },
  ],
  ["{{ctx.paid.amount}}", undefined],
  ["{{ctx.input.id + 1}}", undefined],
  [{ a: "{{ctx.input.missing}}" }, undefined],
  ["a {{ broken", undefined],
])("%j", (template, value) => {
  expect(resolved(template, INPUT)).toEqual(value);
});

test("every attempt of a task in the stored logs has its input, unless it needs an expression", () => {
  const origins = new Set<string>();
  for (const name of NAMES) {
    const { id, plan, log } = golden(name);
    const state = fold(plan, id, log);
    for (const node of state.activations.values()) {
      for (const attempt of node.attempts) {
        const { from, value, template } = inputOf(plan, state, node, attempt);
        origins.add(from);
        if (from === "unknown") expect(JSON.stringify(template)).toContain("{{");
        else expect(value).toBeDefined();
      }
    }
  }
  expect([...origins].sort()).toEqual(expect.arrayContaining(["log", "workflow input"]));
});
