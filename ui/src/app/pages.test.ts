import { expect, test } from "vitest";

import { NAV_PAGES, pageAt } from "./pages";

test("each key leads to one page", () => {
  const keys = NAV_PAGES.flatMap(({ nav }) => nav?.key ?? []);
  expect(keys.filter((key, place) => keys.indexOf(key) !== place)).toEqual([]);
});

test("pages are in the order of the navigation", () => {
  expect(NAV_PAGES.slice(0, 5).map(({ title }) => title)).toEqual(["Home", "Instances", "Approvals", "Events", "Workflows"]);
});

test("an address has the page that is shown at it", () => {
  for (const page of NAV_PAGES) expect(pageAt(page.path)).toBe(page);
  expect(pageAt("/instances/1?x")?.title).toBe("Instance");
  expect(pageAt("/no/such/page")).toBeUndefined();
});
