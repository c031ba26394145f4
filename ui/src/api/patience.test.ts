import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { makeClient } from "./client";
import { ANSWER_MS, LONGEST_ANSWER_MS, WHOLE_ANSWER_MS } from "./patience";
import { ApiProblem } from "./problem";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const EMPTY = JSON.stringify({ items: [], nextCursor: null });
const NEVER = Infinity;

/** A service that takes as long for each path as the test says, for its answer and for the body of it. */
function slowService(tookMs: (path: string) => number, bodyMs: (path: string) => number = () => 0) {
  const givenUp: Record<string, number[]> = {};
  const late = async <T>(ms: number, signal: AbortSignal, value: T): Promise<T> => {
    await new Promise<void>((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error));
      if (ms !== NEVER) setTimeout(resolve, ms);
    });
    return value;
  };
  const client = makeClient({
    fetch: async (given, init) => {
      const request = given as Request;
      const path = new URL(request.url).pathname;
      const signal = init?.signal ?? request.signal;
      const began = Date.now();
      signal.addEventListener("abort", () => (givenUp[path] ??= []).push(Date.now() - began));
      if (tookMs(path) > 0) await late(tookMs(path), signal, null);
      const bytes = new TextEncoder().encode(EMPTY);
      const body = new ReadableStream({
        async start(controller) {
          try {
            if (bodyMs(path) > 0) await late(bodyMs(path), signal, null);
            controller.enqueue(bytes);
            controller.close();
          } catch (error) {
            controller.error(error);
          }
        },
      });
      return new Response(body, { headers: { "content-type": "application/json" } });
    },
    base: "http://service",
    key: () => null,
    onRefused: () => undefined,
    onReached: () => undefined,
    onTime: () => undefined,
  });
  return { client, givenUp };
}

type Client = ReturnType<typeof slowService>["client"];
const LIST = "/api/v1/instances";
const WORKFLOWS = "/api/v1/workflows";
const result = (call: Promise<unknown>) => call.then(() => "answered", (error: unknown) => error);
const list = (client: Client) => result(client.GET(LIST));
const workflows = (client: Client) => result(client.GET(WORKFLOWS));
const explain = (client: Client, id: string) => result(client.GET("/api/v1/instances/{id}/explain", { params: { path: { id } } }));

/** What comes of it, with all the time that it wants. */
async function ended<T>(asked: Promise<T>): Promise<T> {
  await vi.advanceTimersByTimeAsync(LONGEST_ANSWER_MS + WHOLE_ANSWER_MS);
  return asked;
}

test("a read without an answer is given up as one of a service that cannot be reached, each time later", async () => {
  let tookMs = NEVER;
  const { client, givenUp } = slowService(() => tookMs);
  // What is not answered at the same time counts once.
  const twice = async () => (await ended(Promise.all([list(client), list(client)])))[0];
  for (let number = 0; number < 5; number += 1) expect(await twice()).toMatchObject({ name: "ApiProblem", status: 0, isTransient: true });
  tookMs = 0;
  expect(await twice()).toBe("answered");
  tookMs = NEVER;
  await twice();
  expect(givenUp[LIST]).toEqual([1, 1, 2, 2, 4, 4, 8, 8, 8, 8, 1, 1].map((times) => times * ANSWER_MS));
});

test("a slow path keeps its patience though another path answers", async () => {
  const { client, givenUp } = slowService((path) => (path === LIST ? 3 * ANSWER_MS : 0));
  const outcomes: unknown[] = [];
  for (let number = 0; number < 4; number += 1) {
    outcomes.push(await ended(list(client)));
    expect(await ended(workflows(client))).toBe("answered");
  }
  expect(outcomes).toMatchObject([{ status: 0 }, { status: 0 }, "answered", "answered"]);
  expect(givenUp[LIST]).toEqual([ANSWER_MS, 2 * ANSWER_MS]);
});

test("a path without answers is waited for, and others not the longer for it", async () => {
  const { client, givenUp } = slowService(() => NEVER);
  await ended(list(client));
  await ended(list(client));
  await ended(workflows(client));
  expect(givenUp).toEqual({ [LIST]: [ANSWER_MS, 2 * ANSWER_MS], [WORKFLOWS]: [ANSWER_MS] });
});

test("what is slow for one instance is waited for with the next one; a filter is a path of its own", async () => {
  const { client, givenUp } = slowService(() => NEVER);
  await ended(explain(client, "a"));
  await ended(explain(client, "b"));
  await ended(list(client));
  await ended(result(client.GET(LIST, { params: { query: { workflowId: "one" } } })));
  await ended(result(client.GET(LIST, { params: { query: { workflowId: "another" } } })));
  expect(givenUp["/api/v1/instances/b/explain"]).toEqual([2 * ANSWER_MS]);
  expect(givenUp[LIST]).toEqual([ANSWER_MS, ANSWER_MS, 2 * ANSWER_MS]);
});

test.each(["/api/v1/audit/verify", "/api/v1/audit/export"] as const)("%s takes as long as it takes", async (path) => {
  const long = 10 * WHOLE_ANSWER_MS;
  const { client, givenUp } = slowService(() => long, () => long);
  const asked = result(client.GET(path, { parseAs: "blob" }));
  await vi.advanceTimersByTimeAsync(2 * long);
  expect([await asked, givenUp]).toEqual(["answered", {}]);
});

test("an answer that has begun and does not end is one of a service that cannot be reached", async () => {
  const { client } = slowService(() => 0, () => NEVER);
  const problem = await ended(list(client));
  expect(problem).toBeInstanceOf(ApiProblem);
  expect(problem).toMatchObject({ status: 0 });
});

test("no timer is left of what has ended", async () => {
  const { client } = slowService(() => 0);
  expect(await list(client)).toBe("answered");
  expect(vi.getTimerCount()).toBe(0);
});

test("who leaves is told so, and no service is said to be away", async () => {
  const { client } = slowService(() => NEVER);
  const leaving = new AbortController();
  const asked = result(client.GET(LIST, { signal: leaving.signal }));
  await vi.advanceTimersByTimeAsync(1);
  leaving.abort();
  expect(await asked).toMatchObject({ name: "AbortError" });
  expect(vi.getTimerCount()).toBe(0);
});
