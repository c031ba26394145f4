import { expect, test } from "vitest";

import { documentOf, draftOf } from "../core/schedule";
import { fromLocalInput, toLocalInput } from "./localMoments";

test("a moment that was not changed keeps what the control does not show, and one that was is written as it stands", () => {
  const saved = { type: "one-time", executeAt: "2026-12-24T09:00:30.500Z", target: { workflowId: "order" }, overlap: "skip", catchUp: { mode: "one" } };
  const draft = draftOf(saved, (moment) => toLocalInput(moment, "seconds"));
  expect(draft.executeAt).toMatch(/:30$/);
  expect(documentOf(draft, fromLocalInput).document).toEqual(saved);
  const changed = { ...draft, executeAt: draft.executeAt.replace(/:30$/, ":31") };
  expect(documentOf(changed, fromLocalInput).document["executeAt"]).toBe("2026-12-24T09:00:31.000Z");
});
