import { expect, test } from "vitest";

import { said } from "./connection";

const NOW = Date.UTC(2026, 10, 16, 12);

test.each([
  [{ kind: "live", roundTripMs: 12.4 }, null, "Live", "12 ms"],
  [{ kind: "connecting" }, null, "Connecting", "being opened"],
  [{ kind: "polling", everyMs: 3_000, why: "The socket was closed." }, null, "Polling every 3 s", "The socket was closed."],
  [{ kind: "refused", why: "The key is not valid any more." }, null, "Signed out", "not valid"],
] as const)("%o is said as it is", (state, down, word, why) => {
  const words = said(state, down, NOW);
  expect(words.word).toBe(word);
  expect(words.why).toContain(why);
});

test("a service that does not answer is offline, whatever the socket was last", () => {
  const words = said({ kind: "live", roundTripMs: 1 }, NOW - 60_000, NOW);
  expect(words).toMatchObject({ tone: "red" });
  expect(words.word).toMatch(/^Offline since /);
});
