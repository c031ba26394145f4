import { expect, test } from "vitest";

import { differences, documentOf, draftOf, emptyWords, fullness, isFull, isSet, limitName, notNumbers, previewWords, rebased, fullWords, hasWrongRows, rowProblems, waitedForFirst, waitWords, type Limits, type LimitUse } from "./limits";

const LIMITS: Limits = {
  version: 3,
  globalMaxConcurrent: 10,
  workflowTypeLimits: { order: 2, "*": 5 },
  tenantLimits: {},
  userLimits: { ana: 1 },
  queue: { order: "priority", bound: null, aging: "PT1M", perTenantShare: { acme: 3 } },
};

test("limits are named as people name what they count", () => {
  expect(limitName("global")).toBe("All instances");
  expect(limitName("tenant:acme")).toBe("Tenant acme");
  expect(limitName("type:acme/order")).toBe("Workflow order");
  expect(limitName("user:acme/https://id/|ana")).toBe("User https://id/|ana");
  expect(limitName("key:acme/order/eu/1")).toBe("Key eu/1 of order");
  expect(limitName("key:acme/order/")).toBe("Own limit of order");
  expect(limitName("mutex:acme/printer")).toBe("Mutex printer");
  expect(limitName("rate:acme/order/7")).toBe("Rate of order, key 7");
  expect(limitName("debounce:acme/order/")).toBe("Debounce of order");
  expect(limitName("disk:acme")).toBe("disk:acme");
});

test("a row says what it waits for", () => {
  expect(waitWords([{ limit: "type:a/order", held: 2, max: 2 }, { limit: "debounce:a/order/", held: 0, max: null }])).toBe("Workflow order 2 of 2, Debounce of order");
});

test("only limits of the service, tenants, workflows and users are set here", () => {
  expect(["global", "type:a/b", "key:a/b/c", "mutex:a/b"].map(isSet)).toEqual([true, true, false, false]);
});

test("a bar says how full a limit is, and how many wait", () => {
  expect(fullWords({ held: 2, max: 2, waiting: 1 })).toBe("2 of 2, 1 waits");
  expect(fullWords({ held: 0, max: 1_000, waiting: 0 })).toBe("0 of 1,000");
  expect(fullWords({ held: 0, max: null, waiting: 2 })).toBe("2 wait");
  expect([{ held: 4, max: 4 }, { held: 3, max: 4 }, { held: 0, max: null }].map(isFull)).toEqual([true, false, false]);
  expect(fullness({ held: 0, max: null })).toBe(0);
  expect(fullness({ held: 1, max: 4 })).toBe(25);
  expect(fullness({ held: 9, max: 4 })).toBe(100);
  expect(fullness({ held: 0, max: 0 })).toBe(100);
});

test("limits that something waits for come first, in the order that they had", () => {
  const uses = [0, 3, 0, 1].map((waiting, place) => ({ waiting, place }));
  expect(waitedForFirst(uses).map(({ place }) => place)).toEqual([1, 3, 0, 2]);
});

test("what is not edited is sent as it was read, also fields that this page does not know", () => {
  const newer = { ...LIMITS, resourceBasedLimits: { enabled: true } };
  const { version: _, ...rest } = newer;
  expect(documentOf(draftOf(newer), newer)).toEqual(rest);
});

test("an emptied limit is removed, and a number that is none goes to the service as it is", () => {
  const draft = { ...draftOf(LIMITS), global: "", workflows: [{ name: "order", max: "many" }, { name: " ", max: "1" }], users: [{ name: "ana", max: "" }] };
  expect(documentOf(draft, LIMITS)).toMatchObject({ globalMaxConcurrent: null, workflowTypeLimits: { order: "many" }, userLimits: {} });
});

test("edits are kept on limits that were saved meanwhile", () => {
  const base = draftOf(LIMITS);
  const mine = { ...base, global: "20", workflows: [{ name: "order", max: "4" }], users: base.users };
  const newest = draftOf({ ...LIMITS, version: 4, globalMaxConcurrent: 12, workflowTypeLimits: { order: 3, "*": 5, bill: 1 }, userLimits: {} });
  const both = rebased(mine, base, newest);
  expect(both.global).toBe("20");
  expect(both.workflows).toEqual([{ name: "bill", max: "1" }, { name: "order", max: "4" }]);
  expect(both.users).toEqual([]);
});

test("differences are said in words", () => {
  const base = draftOf(LIMITS);
  const after = draftOf({ ...LIMITS, globalMaxConcurrent: null, workflowTypeLimits: { order: 3, "*": 5, bill: 1 } });
  expect(differences(base, after)).toEqual(["All instances: no limit, was 10", "Workflow order: 3, was 2", "Workflow bill: 1, was none"]);
  expect(differences(base, base)).toEqual([]);
});

test("a preview says what begins and what waits", () => {
  expect(previewWords({ admitted: 3, waiting: 5, limits: [], isComplete: true })).toBe("3 instances would begin at once, and 5 would still wait.");
  expect(previewWords({ admitted: 0, waiting: 0, limits: [], isComplete: true })).toBe("No instance would begin at once, and none would wait.");
  expect(previewWords({ admitted: 1, waiting: 9, limits: [], isComplete: false })).toContain("Only the first 10,000");
});

test("text that is no number is named at its field", () => {
  const draft = { ...draftOf(LIMITS), global: "-1", bound: "", workflows: [{ name: "a", max: "many" }, { name: "b", max: "2.5" }, { name: "c", max: "3" }] };
  expect(notNumbers(draft)).toEqual({ global: "“-1” is no whole number from 0.", workflows: "“many”, “2.5” are no whole numbers from 0." });
  expect(notNumbers(draftOf(LIMITS))).toEqual({});
});

test("the adaptive limit is sent once it is edited, with what is given alone", () => {
  const draft = { ...draftOf(LIMITS), follows: true, most: "200", commit: "12.5" };
  expect(documentOf(draft, LIMITS)["resourceBasedLimits"]).toEqual({ enabled: true, max: 200, targets: { commitMs: 12.5 } });
  expect(differences(draftOf(LIMITS), draft)).toEqual(["Follows the load: yes, was no", "At most: 200, was none", "Commit latency: 12.5, was none"]);
  expect(notNumbers({ ...draft, least: "few", memory: "1.x" })).toEqual({ least: "“few” is no whole number from 0.", memory: "“1.x” is no number." });
});

const use = (limit: string, held: number, max: number | null, waiting = 0): LimitUse => ({ limit, held, max, waiting, holders: [] });

test("an empty queue says that limits have room only where they do", () => {
  expect(emptyWords([use("global", 1, 5)])).toContain("Every limit has room.");
  expect(emptyWords([use("global", 5, 5)])).toBe("All instances: full. What is started now and counts for it waits here.");
  expect(emptyWords([use("global", 9, 5), use("type:a/b", 1, 1), use("user:a/ana", 0, 1)])).toBe("All instances, Workflow b: full. What is started now and counts for one of them waits here.");
  expect(emptyWords([use("global", 1, 5), use("mutex:a/m", 1, 1, 24)])).toBe("24 steps wait for a mutex.");
});

test("an empty queue does not say that nothing is limited where definitions may have limits", () => {
  expect(emptyWords([])).toContain("nothing waits for a limit of its definition");
  expect(emptyWords([])).not.toContain("begins at once");
  expect(emptyWords(undefined)).not.toContain("No limit");
});

test("a row that would not be saved says why", () => {
  const rows = [{ name: "a", max: "1" }, { name: " ", max: "2" }, { name: " a ", max: "3" }, { name: "b", max: "" }, { name: "", max: "" }];
  expect(rowProblems(rows)).toEqual(["", "Give a name, or * for each one that is not named.", "“a” is there already.", "Give a number, or remove the row.", ""]);
  expect(hasWrongRows({ ...draftOf(LIMITS), shares: rows })).toBe(true);
  expect(hasWrongRows(draftOf(LIMITS))).toBe(false);
});
