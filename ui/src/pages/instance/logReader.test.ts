import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { ApiProblem } from "../../api/problem";
import { READ_AGAIN_MS } from "../../api/queries";
import type { LogEntry } from "../../core/log";
import { LogReader } from "./logReader";
import { lastOf } from "./model/window";

/** A log of so many entries, whose pages are answered when the test says so. */
function slowLog() {
  const reads: { answer: (upTo: number, from?: number) => Promise<void>; refuse: (status: number) => Promise<void> }[] = [];
  const reader = new LogReader("i1", ({ after }) => {
    return new Promise((resolve, reject) => {
      reads.push({
        answer: async (upTo, from = (after ?? 0) + 1) => {
          const entries = [];
          for (let seq = from; seq <= upTo; seq += 1) entries.push({ seq } as LogEntry);
          resolve(after === undefined ? entries.reverse() : entries);
          await vi.advanceTimersByTimeAsync(0);
        },
        refuse: async (status) => {
          reject(new ApiProblem(status, {}));
          await vi.advanceTimersByTimeAsync(0);
        },
      });
    });
  });
  return { reader, reads, last: () => lastOf(reader.state.get().window), error: () => reader.state.get().error };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("what is wished for during a read is read after it", async () => {
  const { reader, reads, last } = slowLog();
  reader.open();
  reader.newer();
  await reads[0]?.answer(3);
  expect(reads).toHaveLength(2);
  await reads[1]?.answer(5);
  await reads[2]?.answer(5);
  expect([last(), reads.length]).toEqual([5, 3]);
});

test("a wish with a new key counts, though a read with the key before is refused later", async () => {
  const { reader, reads, last, error } = slowLog();
  reader.open();
  // The page has signed in again: its reader is closed and opened.
  reader.close();
  reader.open();
  await reads[0]?.refuse(401);
  expect(reads).toHaveLength(2);
  await reads[1]?.answer(4);
  expect([last(), error()]).toEqual([4, null]);
});

test("one that was refused is read by the next wish, and not before", async () => {
  const { reader, reads, last } = slowLog();
  reader.open();
  await reads[0]?.refuse(401);
  await vi.advanceTimersByTimeAsync(READ_AGAIN_MS * 20);
  expect(reads).toHaveLength(1);
  reader.open();
  await reads[1]?.answer(2);
  expect(last()).toBe(2);
});

test.each([0, 429, 500, 503])("one that failed with status %i is read again by itself", async (status) => {
  const { reader, reads, last } = slowLog();
  reader.open();
  await reads[0]?.refuse(status);
  await vi.advanceTimersByTimeAsync(READ_AGAIN_MS);
  await reads[1]?.answer(2);
  expect(last()).toBe(2);
});

test("one that is looked at now and then shows no work", async () => {
  const { reader, reads } = slowLog();
  reader.open();
  await reads[0]?.answer(2);
  reader.look();
  expect([reader.state.get().isReading, reads.length]).toEqual([false, 2]);
});

test.each([401, 403, 404])("one that is refused with status %i is not looked at until it is opened with another key", async (status) => {
  const { reader, reads, last } = slowLog();
  reader.open();
  await reads[0]?.answer(2);
  reader.look();
  await reads[1]?.refuse(status);
  reader.look();
  reader.look();
  expect(reads).toHaveLength(2);
  reader.close();
  reader.open();
  await reads[2]?.answer(3);
  reader.look();
  expect([last(), reads.length]).toEqual([3, 4]);
});

test("one that failed for a reason that may pass is looked at all the same", async () => {
  const { reader, reads } = slowLog();
  reader.open();
  await reads[0]?.refuse(503);
  reader.look();
  expect(reads).toHaveLength(2);
});

test("older entries are read though they are wished for during a look", async () => {
  const { reader, reads } = slowLog();
  reader.open();
  // The log is too long to be read whole without being asked to.
  await reads[0]?.answer(20_000, 19_990);
  reader.look();
  reader.older();
  expect(reads).toHaveLength(2);
  await reads[1]?.answer(20_000);
  expect(reads).toHaveLength(3);
});
