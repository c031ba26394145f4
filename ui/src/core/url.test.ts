import { expect, test } from "vitest";
import { Random } from "../../tests/random";
import {
  count,
  decode,
  DEFINITION,
  encode,
  EVENTS,
  flag,
  folds,
  INSTANCE,
  INSTANCE_TABS,
  INSTANCES,
  link,
  list,
  oneOf,
  optional,
  path,
  text,
  type Codec,
} from "./url";

test("every state of a page is restored from its address", () => {
  const random = new Random(1);
  const codec = {
    q: text(),
    start: text("x"),
    step: optional(),
    tab: oneOf(INSTANCE_TABS, "graph"),
    at: count(),
    live: flag(true),
    names: list(),
    open: folds(),
  };
  for (let round = 0; round < 500; round += 1) {
    const state = {
      q: random.text(),
      start: random.text(),
      step: random.chance(0.3) ? null : random.text(),
      tab: random.pick(INSTANCE_TABS),
      at: random.chance(0.3) ? null : random.below(1e9),
      live: random.chance(0.5),
      names: Array.from({ length: random.below(3) }, () => random.text().replaceAll(",", "") || "n"),
      open: new Map(Array.from({ length: random.below(4) }, () => [`${random.pick(["!", "\\\\", ",", ""])}${random.text() || "n"}`, random.chance(0.5)] as const)),
    };
    const address = link("/x", encode(codec, state));
    const params = new URL(address, "http://host").searchParams;
    // An address keeps no difference between line ends.
    expect(decode(codec, params)).toEqual(state);
  }
});

test.each([INSTANCES, INSTANCE, DEFINITION, EVENTS] as Codec<Record<string, unknown>>[])(
  "an address without parameters is the initial state",
  (codec) => {
    const initial = decode(codec, new URLSearchParams());
    expect(encode(codec, initial).toString()).toBe("");
    expect(decode(codec, encode(codec, initial))).toEqual(initial);
  },
);

test("what cannot be read is as by default", () => {
  const state = decode(INSTANCE, new URLSearchParams("tab=nonsense&attempt=-1&at=1e9&entry=999999999999999999"));
  expect(state).toMatchObject({ tab: "graph", attempt: null, at: null, entry: null });
});

test("parameters of others are kept", () => {
  const rest = new URLSearchParams("tab=log&theme=dark");
  expect(encode(INSTANCE, { tab: "context" }, rest).toString()).toBe("tab=context&theme=dark");
});

test("a path is encoded part by part", () => {
  expect(path("workflows", "a/b ?#", "versions")).toBe("/workflows/a%2Fb%20%3F%23/versions");
});
