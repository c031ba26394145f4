import { expect, test } from "vitest";

import { NAV_PAGES } from "./pages";

test("each key leads to one page", () => {
  const keys = NAV_PAGES.flatMap(({ nav }) => nav?.key ?? []);
  expect(keys.filter((key, place) => keys.indexOf(key) !== place)).toEqual([]);
});

test("pages are in the order of the navigation", () => {
  expect(NAV_PAGES.slice(0, 5).map(({ title }) => title)).toEqual(["Home", "Instances", "Approvals", "Events", "Workflows"]);
});
