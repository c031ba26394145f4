/**
 * Folds logs as the server gives them, and compares each state with the server's: a program that
 * tests/ui/test_fold.py runs. `node fold-cases.mjs FILE` reads JSON lines and prints the number of
 * states that were compared, then a line for each difference.
 */

import { readFileSync } from "node:fs";
import { blank, fold, foldAll, type InstanceState } from "../src/core/fold";
import { graphOf } from "../src/core/graph";
import { sameJson, type Json, type JsonObject } from "../src/core/json";
import { counts, settled } from "../src/core/iterations";
import type { LogEntry } from "../src/core/log";
import { planOf, type Plan } from "../src/core/plan";
import { contextView, instanceView, waitViews } from "../src/core/view";

interface Case {
  name: string;
  id: string;
  document: Json;
  graph: Json;
  log: LogEntry[];
  states: (JsonObject & { version: number })[];
}

const differences: string[] = [];
let compared = 0;

function differ(name: string, ours: unknown, theirs: unknown, path: string): void {
  if (sameJson(ours, theirs)) return;
  const isBranch = (value: unknown): value is JsonObject =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  if (isBranch(ours) && isBranch(theirs)) {
    for (const key of new Set([...Object.keys(ours), ...Object.keys(theirs)])) {
      differ(name, ours[key], theirs[key], `${path}.${key}`);
    }
    return;
  }
  differences.push(`${name}: ${path} is ${JSON.stringify(ours)}, expected ${JSON.stringify(theirs)}`);
}

/** What the server shows, of our state. What it forgets of ended iterations is left out. */
function shown(plan: Plan, state: InstanceState, theirs: JsonObject): JsonObject {
  const known = <T>(map: Map<string, T>, name: string, view: (value: T) => Json): JsonObject => {
    const wanted = Object.keys(theirs[name] as JsonObject);
    return Object.fromEntries(
      wanted.map((key) => {
        const value = map.get(key);
        return [key, value === undefined ? null : view(value)];
      }),
    );
  };
  return {
    version: state.version,
    instance: instanceView(plan, state),
    context: { ctx: contextView(state), system: state.system },
    waits: waitViews(plan, state, true),
    inner: known(state.activations, "inner", ({ status, attempt }) => ({ status, attempt })),
    joins: known(state.joins, "joins", ({ taken, dead }) => ({ taken, dead })),
    loops: known(state.loops, "loops", ({ started, active, succeeded, skipped, length }) => ({
      started,
      active,
      succeeded,
      skipped,
      length,
    })),
    outcomes: known(state.iterations, "outcomes", (iteration) => settled(plan, state, iteration).status),
    failed: known(state.loops, "failed", (loop) => counts(plan, state, loop).failed),
    iterations: known(state.iterations, "iterations", ({ variables }) =>
      Object.fromEntries([...variables].map(([key, { value }]) => [key, value])),
    ),
  };
}

function compareGraphs({ name, document, graph }: Case): void {
  const ours = graphOf(document);
  const theirs = graphOf(graph);
  const edges = ({ edges }: typeof ours) => edges.map((edge) => edge.id).sort();
  const nodes = ({ nodes }: typeof ours) => nodes.map(({ id, type }) => `${id} ${type}`).sort();
  differ(name, edges(ours), edges(theirs), "edges");
  differ(name, nodes(ours), nodes(theirs), "nodes");
  const joins = (each: typeof ours) =>
    Object.fromEntries([...planOf(each).nodes].map(([id, { atLeast, loop }]) => [id, { atLeast, loop }]));
  differ(name, joins(ours), joins(theirs), "plan");
}

for (const line of readFileSync(process.argv[2] as string, "utf8").split("\n")) {
  if (!line) continue;
  const given = JSON.parse(line) as Case;
  compareGraphs(given);
  const plan = planOf(graphOf(given.graph));
  let state = blank(given.id);
  for (const theirs of given.states) {
    // In parts, as pages and live updates come.
    state = foldAll(plan, state, given.log.slice(state.version, theirs.version));
    differ(`${given.name} at ${theirs.version}`, shown(plan, state, theirs), theirs, "");
    compared += 1;
  }
  differ(
    `${given.name} at once`,
    shown(plan, fold(plan, given.id, given.log), given.states.at(-1)!),
    given.states.at(-1)!,
    "",
  );
  differ(given.name, state.unknown.length, 0, "unknown entries");
  if (differences.length > 100) break;
}
console.log([String(compared), ...differences].join("\n"));
