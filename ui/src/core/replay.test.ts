import { expect, test } from "vitest";
import { golden, NAMES } from "../../tests/golden";
import { fold } from "./fold";
import { Replay } from "./replay";

test("a slider shows the state of every entry, in any order", () => {
  for (const name of NAMES) {
    const { id, plan, log } = golden(name);
    const replay = new Replay(plan, id, log);
    for (const version of [log.length, 0, ...log.map((entry) => entry.seq).reverse()]) {
      expect(replay.at(version)).toEqual(fold(plan, id, log, version));
    }
  }
});

test("entries that come twice count once, and a gap is noticed", () => {
  const { id, plan, log } = golden("order_retried");
  const replay = new Replay(plan, id, log.slice(0, 10));
  expect(replay.append(log.slice(12))).toBe(false);
  expect(replay.length).toBe(10);
  expect(replay.append(log.slice(5))).toBe(true);
  expect(replay.append(log)).toBe(true);
  expect(replay.newest).toEqual(fold(plan, id, log));
});

test("a long log has states to go back to", () => {
  const { id, plan, log } = golden("completed");
  const many = Array.from({ length: 5_000 }, (_, index) => ({
    ...log[0]!,
    seq: log.length + index + 1,
    eventType: "SYSTEM_SET",
    payload: { values: { n: index } },
  }));
  const replay = new Replay(plan, id, log);
  expect(replay.append(many)).toBe(true);
  expect(replay.at(log.length + 4_321).system).toEqual({ n: 4_320 });
  expect(replay.at(log.length + 1).system).toEqual({ n: 0 });
});
