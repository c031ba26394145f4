import { expect, test } from "vitest";

import { makeClient } from "./client";
import { ApiProblem } from "./problem";

/** A client whose service is a function, and what it noted. */
function clientOf(answer: (request: Request) => Response | Promise<Response>, key: string | null = "a-key") {
  const noted = { requests: [] as Request[], refused: [] as (string | null)[], reached: [] as boolean[] };
  const client = makeClient({
    fetch: async (request) => {
      noted.requests.push(request as Request);
      return answer(request as Request);
    },
    base: "http://service/x",
    key: () => key,
    onRefused: (refused) => noted.refused.push(refused),
    onReached: (isReached) => noted.reached.push(isReached),
    onTime: () => undefined,
  });
  return { client, noted };
}

const json = (status: number, body: unknown, headers = {}) =>
  new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } });

const problemFrom = async (call: Promise<unknown>): Promise<ApiProblem> => {
  const error: unknown = await call.then(() => null, (reason: unknown) => reason);
  if (!(error instanceof ApiProblem)) throw new Error(`no problem, but ${String(error)}`);
  return error;
};

test("a request goes below the base path, with the key as a header and never in the URL", async () => {
  const { client, noted } = clientOf(() => json(200, { id: "a/b" }));
  await client.GET("/api/v1/instances/{id}", { params: { path: { id: "a/b" } } });
  const [request] = noted.requests;
  expect(request?.url).toBe("http://service/x/api/v1/instances/a%2Fb");
  expect(request?.headers.get("authorization")).toBe("Bearer a-key");
});

test("without a key no credential is sent", async () => {
  const { client, noted } = clientOf(() => json(200, { items: [], nextCursor: null }), null);
  await client.GET("/api/v1/instances");
  expect(noted.requests[0]?.headers.has("authorization")).toBe(false);
});

test("a refusal has its code, advice, all problems, request id and when to try again", async () => {
  const problems = [{ code: "TEN-2004", path: "$.input.a", message: "is missing", advice: "Add it.", severity: "error" }];
  const { client } = clientOf(() =>
    json(429, { code: "TEN-4290", title: "Too many", detail: "wait", advice: "Later.", requestId: "r1", problems }, { "retry-after": "3" }),
  );
  const problem = await problemFrom(client.GET("/api/v1/instances"));
  expect(problem).toMatchObject({ status: 429, code: "TEN-4290", message: "wait", advice: "Later.", requestId: "r1", retryAfter: 3, problems, isTransient: true });
});

test("an answer that is no problem document is named as one of something between", async () => {
  const { client } = clientOf(() => new Response("<h1>Bad gateway</h1>", { status: 502, headers: { "content-type": "text/html" } }));
  const problem = await problemFrom(client.GET("/api/v1/instances"));
  expect(problem).toMatchObject({ status: 502, code: "", isTransient: true });
  expect(problem.message).toContain("not Tenuto's own");
});

test("a refused key is reported with the key that was sent", async () => {
  const { client, noted } = clientOf(() => json(401, { code: "TEN-5001", title: "Sign in" }));
  await problemFrom(client.GET("/api/v1/instances"));
  expect(noted.refused).toEqual(["a-key"]);
});

test("a service that is not reached is a problem of its own, and noted until it answers", async () => {
  let isDown = true;
  const { client, noted } = clientOf(() => {
    if (isDown) throw new TypeError("Failed to fetch");
    return json(200, { items: [], nextCursor: null });
  });
  const problem = await problemFrom(client.GET("/api/v1/instances"));
  expect(problem).toMatchObject({ status: 0, isTransient: true });
  isDown = false;
  await client.GET("/api/v1/instances");
  expect(noted.reached).toEqual([false, true]);
});

test("an aborted request is no sign of a service that is away", async () => {
  const { client, noted } = clientOf(() => {
    throw new DOMException("aborted", "AbortError");
  });
  await expect(client.GET("/api/v1/instances")).rejects.toMatchObject({ name: "AbortError" });
  expect(noted.reached).toEqual([]);
});
