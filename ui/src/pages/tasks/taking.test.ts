import { expect, test } from "vitest";

import { isStranded, takers } from "./taking";

const queue = { taskId: "t", waiting: 1, workers: 0, isRunHere: false, isPushed: false };

test("what waits is stranded only where nothing takes it", () => {
  expect(isStranded(queue)).toBe(true);
  for (const taken of [{ workers: 1 }, { isRunHere: true }, { isPushed: true }, { waiting: 0 }]) {
    expect(isStranded({ ...queue, ...taken })).toBe(false);
  }
});

test("what takes a task is said in words", () => {
  expect(takers(queue)).toBe("nothing");
  expect(takers({ ...queue, workers: 2, isRunHere: true })).toBe("this service, 2 workers");
  expect(takers({ ...queue, isPushed: true, breaker: "open" })).toBe("its address, which is not tried now");
});
