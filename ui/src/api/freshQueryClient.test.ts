import { QueryObserver } from "@tanstack/react-query";
import { expect, test } from "vitest";

import { FreshQueryClient } from "./freshQueryClient";

const KEY = ["/api/v1/instances/{id}", { path: { id: "i1" } }];

/** A query that is looked at, and answers that come when the test says so. */
function watched() {
  const queries = new FreshQueryClient();
  const reads: { answer: (value: string) => void; fail: (error: unknown) => void }[] = [];
  const queryFn = () => new Promise<string>((answer, fail) => void reads.push({ answer, fail }));
  const observer = new QueryObserver(queries, { queryKey: KEY, queryFn, retry: false });
  const leave = observer.subscribe(() => undefined);
  const settle = async (number: number, how: (read: (typeof reads)[number]) => void) => {
    const read = reads[number];
    if (read === undefined) throw new Error("it was not read so often");
    how(read);
    // Every promise that depends on it.
    for (let turns = 0; turns < 20; turns += 1) await Promise.resolve();
  };
  return { queries, reads, settle, observer, leave, shown: () => observer.getCurrentResult().data };
}

test("a change during the first read is read after it", async () => {
  const { queries, reads, settle, shown } = watched();
  const fresh = queries.invalidateQueries({ queryKey: KEY });
  expect(reads).toHaveLength(1);
  await settle(0, ({ answer }) => answer("waiting"));
  expect(reads).toHaveLength(2);
  await settle(1, ({ answer }) => answer("completed"));
  await fresh;
  expect(shown()).toBe("completed");
});

test("so is one during a first read that fails", async () => {
  const { queries, reads, settle, shown } = watched();
  void queries.invalidateQueries();
  await settle(0, ({ fail }) => fail(new Error("refused")));
  expect(reads).toHaveLength(2);
  await settle(1, ({ answer }) => answer("completed"));
  expect(shown()).toBe("completed");
});

test("what changes more often than it can be read is shown all the same", async () => {
  const { queries, reads, settle, shown } = watched();
  await settle(0, ({ answer }) => answer("0"));
  for (let number = 1; number < 4; number += 1) {
    void queries.invalidateQueries();
    void queries.invalidateQueries();
    await settle(number, ({ answer }) => answer(String(number)));
    expect(shown()).toBe(String(number));
    // One more for all the changes during the read.
    expect(reads).toHaveLength(number + 2);
    await settle(number + 1, ({ answer }) => answer(String(number)));
    number += 1;
  }
});

test("reads that were broken off are made anew, also first ones", async () => {
  const { queries, reads, settle, shown } = watched();
  await queries.cancelQueries();
  void queries.invalidateQueries();
  expect(reads).toHaveLength(2);
  await settle(0, ({ answer }) => answer("with the key before"));
  await settle(1, ({ answer }) => answer("with the new key"));
  expect(shown()).toBe("with the new key");
});

test("a query without an observer is read by the next observer", async () => {
  const { queries, reads, settle, leave } = watched();
  void queries.invalidateQueries();
  leave();
  await settle(0, ({ answer }) => answer("waiting"));
  expect(reads).toHaveLength(1);
  expect(queries.getQueryCache().find({ queryKey: KEY })?.state.isInvalidated).toBe(true);
});
