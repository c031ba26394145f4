import { expect, test } from "vitest";
import { graphOf } from "./graph";
import { layoutOf, type Layout } from "./layout";
import { flattened, outlineOf } from "./outline";
import { planOf } from "./plan";

const STEPS = {
  id: "order",
  name: "Order",
  steps: [
    {
      stepId: "reserve",
      type: "TASK",
      taskId: "reserve",
      transitions: {
        default: ["pay", "score"],
        error: "sorry",
        conditions: [{ when: "ctx.x > 1", to: "ask" }],
        onError: [{ codes: ["OUT", "GONE"], to: "sorry" }],
      },
    },
    {
      stepId: "pay",
      type: "EVENT_WAIT",
      eventPattern: "paid",
      eventTimeout: { duration: "P3D", timeoutHandlerStepId: "sorry" },
      transitions: { default: "each" },
    },
    { stepId: "score", type: "TASK", taskId: "score", transitions: { default: "each" } },
    { stepId: "ask", type: "APPROVAL", assignees: {} },
    { stepId: "each", type: "LOOP", source: [1], transitions: { loop: "pack", done: "ship" } },
    { stepId: "pack", type: "TASK", taskId: "pack", transitions: { default: "label" } },
    { stepId: "label", type: "TASK", taskId: "label", transitions: { default: "each" } },
    { stepId: "ship", type: "TASK", taskId: "ship" },
    { stepId: "sorry", type: "QUANTUM_LEAP" },
  ],
  compensationSteps: [{ stepId: "release", compensationFor: "reserve", taskId: "release" }],
};

test("steps and transitions are nodes and edges", () => {
  const graph = graphOf(STEPS);
  expect(graph.starts).toEqual(["reserve"]);
  expect(graph.edges.map((edge) => edge.id)).toEqual([
    "reserve:default>pay",
    "reserve:default>score",
    "reserve:error>sorry",
    "reserve:when_1>ask",
    "reserve:onError_1>sorry",
    "pay:default>each",
    "pay:timeout>sorry",
    "score:default>each",
    "each:loop>pack",
    "each:done>ship",
    "pack:default>label",
    "label:default>each",
  ]);
  const labels = Object.fromEntries(graph.edges.map((edge) => [edge.id, edge.label]));
  expect(labels["reserve:when_1>ask"]).toBe("ctx.x > 1");
  expect(labels["reserve:onError_1>sorry"]).toBe("OUT, GONE");
  expect(graph.edges.filter((edge) => edge.isError).map((edge) => edge.id)).toEqual([
    "reserve:error>sorry",
    "reserve:onError_1>sorry",
  ]);
  expect(graph.compensations).toMatchObject([{ stepId: "release", compensationFor: "reserve" }]);
});

test("a type that is not known stays as it is written", () => {
  const types = Object.fromEntries(graphOf(STEPS).nodes.map((node) => [node.id, node.type]));
  expect(types).toMatchObject({ pay: "eventWait", sorry: "QUANTUM_LEAP", each: "loop" });
});

test("steps with dependencies join on all of them", () => {
  const graph = graphOf({
    id: "d",
    steps: [
      { stepId: "a", type: "TASK" },
      { stepId: "b", type: "TASK" },
      { stepId: "c", type: "TASK", dependsOn: ["a", "b"] },
    ],
  });
  expect(graph.form).toBe("dependencies");
  expect(graph.starts).toEqual(["a", "b"]);
  expect(planOf(graph).nodes.get("c")).toMatchObject({ atLeast: 2 });
});

test("nodes and edges are read in both spellings", () => {
  const graph = graphOf({
    title: "T",
    nodes: [
      { id: "s", type: "start", position: { x: 1, y: 2 } },
      { id: "c", type: "condition", config: { branches: [{ id: "big", when: "ctx.n > 9" }] } },
      { id: "e", type: "end" },
    ],
    edges: [
      { upstreamNodeID: "s", downstreamNodeID: "c" },
      { source: "c", target: "e", sourceHandle: "big" },
      { source: "c", target: "nowhere" },
    ],
  });
  expect(graph.title).toBe("T");
  expect(graph.nodes[0]?.position).toEqual({ x: 1, y: 2 });
  expect(graph.edges.map(({ id, label }) => [id, label])).toEqual([
    ["s:default>c", ""],
    ["c:big>e", "ctx.n > 9"],
  ]);
});

test.each([null, 7, "x", [], {}, { steps: null }, { nodes: [null, 3, {}], edges: [null, {}] }, { steps: [{}, {}] }])(
  "%j has a graph, whatever it is",
  (document) => {
    const graph = graphOf(document);
    layoutOf(graph);
    outlineOf(graph);
  },
);

test("the body of a loop is what follows its handle `loop`", () => {
  const plan = planOf(graphOf(STEPS));
  expect(plan.nodes.get("each")?.body).toEqual(["pack", "label"]);
  expect(plan.nodes.get("ship")?.loop).toBeNull();
  expect([...plan.back]).toEqual(["label:default>each"]);
});

test("a cycle, which no server keeps, is laid out all the same", () => {
  const graph = graphOf({
    nodes: [
      { id: "a", type: "task" },
      { id: "b", type: "task" },
    ],
    edges: [
      { source: "a", target: "b" },
      { source: "b", target: "a" },
    ],
  });
  expect(layoutOf(graph).nodes).toHaveLength(2);
});

function overlaps(layout: Layout): string[] {
  const found: string[] = [];
  layout.nodes.forEach((a, index) => {
    for (const b of layout.nodes.slice(index + 1)) {
      const apart = a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
      if (!apart) found.push(`${a.id} ${b.id}`);
    }
  });
  return found;
}

test("nodes do not overlap, and the body of a loop stands in its frame", () => {
  const layout = layoutOf(graphOf(STEPS), { compensations: true });
  expect(layout.nodes.map((node) => node.id).sort()).toEqual(
    ["ask", "each", "label", "pack", "pay", "release", "reserve", "score", "ship", "sorry"].sort(),
  );
  expect(overlaps(layout)).toEqual([]);
  const [frame] = layout.frames;
  expect(frame?.loop).toBe("each");
  for (const node of layout.nodes) {
    const isInside =
      node.x >= frame!.x &&
      node.y >= frame!.y &&
      node.x + node.width <= frame!.x + frame!.width &&
      node.y + node.height <= frame!.y + frame!.height;
    expect([node.id, isInside]).toEqual([node.id, ["each", "pack", "label"].includes(node.id)]);
  }
});

test("the same graph has the same layout", () => {
  expect(layoutOf(graphOf(STEPS))).toEqual(layoutOf(graphOf(structuredClone(STEPS))));
  expect(structuredClone(layoutOf(graphOf(STEPS)))).toEqual(layoutOf(graphOf(STEPS)));
});

test("edges between the same two nodes each have a way of their own, with points that can be drawn", () => {
  // Dagre itself loses a point of another edge where three join the same nodes.
  const handles = ["approved", "rejected", "timeout"];
  const ways = [
    ["a", "b"],
    ["b", "c"],
    ["b", "z"],
    ...handles.map((handle) => ["c", "d", handle]),
    ["d", "z"],
    ["a", "z"],
  ];
  const nodes = ["a", "b", "c", "d", "z"].map((id) => ({ id, type: "task" }));
  const edges = ways.map(([source, target, sourceHandle = "default"]) => ({ source, target, sourceHandle }));
  for (const direction of ["LR", "TB"] as const) {
    const layout = layoutOf(graphOf({ nodes, edges }), { direction });
    expect(layout.edges).toHaveLength(ways.length);
    const points = layout.edges.flatMap((edge) => edge.points);
    expect(points.filter(({ x, y }) => !Number.isFinite(x + y))).toEqual([]);
    const middles = layout.edges.filter(({ target }) => target === "d").map((edge) => JSON.stringify(edge.points.at(1)));
    expect(new Set(middles).size).toBe(handles.length);
    expect(overlaps(layout)).toEqual([]);
  }
});

test("a loop that is folded is one node", () => {
  const layout = layoutOf(graphOf(STEPS), { collapsed: ["each"] });
  expect(layout.frames).toEqual([]);
  expect(layout.nodes.some((node) => node.id === "pack")).toBe(false);
  expect(layout.edges.some((edge) => edge.id === "each:loop>pack")).toBe(false);
});

test("a thousand nodes are laid out", () => {
  const nodes = Array.from({ length: 1000 }, (_, index) => ({ id: `n${index}`, type: "task" }));
  const edges = nodes.slice(1).map((node, index) => ({ source: `n${Math.floor(index / 2)}`, target: node.id }));
  const layout = layoutOf(graphOf({ nodes, edges }));
  expect(layout.nodes).toHaveLength(1000);
});

test("the outline has each node once, bodies below their loops, joins and ways on", () => {
  const items = flattened(outlineOf(graphOf(STEPS)));
  expect(items.map(({ id, level }) => `${level} ${id}`)).toEqual([
    "1 reserve",
    "1 pay",
    "1 score",
    "1 ask",
    "1 each",
    "2 pack",
    "2 label",
    "1 ship",
    "1 sorry",
  ]);
  const item = (id: string) => items.find((each) => each.id === id);
  expect(item("each")).toMatchObject({ join: "all", from: [{ step: "pay" }, { step: "score" }] });
  expect(item("reserve")).toMatchObject({ undoneBy: ["release"] });
  expect(item("reserve")?.then.map((link) => link.label)).toEqual(["", "", "error", "ctx.x > 1", "OUT, GONE"]);
});
