import { MutationObserver, QueryObserver } from "@tanstack/react-query";
import { expect, test } from "vitest";

import { FreshQueryClient } from "./freshQueryClient";
import { actOf } from "./queries";

test("a change is done as soon as it is answered, though a read of the page never is", async () => {
  const queries = new FreshQueryClient();
  let reads = 0;
  const queryFn = () => {
    reads += 1;
    return reads === 1 ? Promise.resolve("before") : new Promise<string>(() => undefined);
  };
  const page = new QueryObserver(queries, { queryKey: ["/api/v1/instances/{id}"], queryFn });
  page.subscribe(() => undefined);
  await page.getCurrentQuery().promise;
  const told: string[] = [];
  const change = new MutationObserver(queries, actOf(queries, (name: string) => Promise.resolve(`${name} is paused`), (done) => told.push(done)));
  void change.mutate("it");
  for (let turns = 0; turns < 50; turns += 1) await Promise.resolve();
  expect([change.getCurrentResult().status, told]).toEqual(["success", ["it is paused"]]);
  // And the page is read again all the same.
  expect(reads).toBe(2);
});
