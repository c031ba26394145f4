import { expect, test } from "vitest";

import { documentOf, draftOf, failedInARow, fieldOf, newDraft, problemText, skipWords, spanWords, tickReason, tickStatus, tickSummary, tickWords } from "./schedule";

const same = (text: string) => text;

test("what a form leaves empty is left out of the document", () => {
  const { document, inputProblem } = documentOf({ ...newDraft("Europe/Berlin", "order"), cron: " 0 9 * * * " }, same);
  expect(inputProblem).toBeNull();
  expect(document).toEqual({ type: "recurring", target: { workflowId: "order" }, overlap: "skip", cron: "0 9 * * *", timezone: "Europe/Berlin", catchUp: { mode: "one" } });
});

test("a saved schedule is the same after it was in the form", () => {
  const saved = {
    id: "nightly",
    name: "Nightly",
    type: "recurring",
    cron: "0 2 * * *",
    timezone: "Europe/Berlin",
    startDate: "2026-01-01",
    endDate: "2026-12-31T00:00:00.000Z",
    target: { callbackUrl: "https://example.com/x", retryPolicy: { maxRetries: 2 } },
    input: { a: [1] },
    overlap: "queue",
    catchUp: { mode: "all", window: "P2D" },
    jitter: "PT5M",
    calendar: "bank",
    onNonWorking: "next",
    dst: { missing: "skip", repeated: "both" },
    metadata: { description: "why" },
  };
  expect(documentOf(draftOf(saved, same), same).document).toEqual(saved);
  const once = { type: "one-time", executeAt: "2026-12-31T10:00", target: { workflowId: "order", version: 3 }, overlap: "skip", catchUp: { mode: "one" } };
  expect(documentOf(draftOf(once, same), same).document).toEqual(once);
});

test("a schedule of a workflow function stays its own after it was in the form", () => {
  const saved = { id: "report.cron", type: "recurring", cron: "@daily", timezone: "UTC", target: { workflowId: "report" }, overlap: "skip", catchUp: { mode: "one" }, metadata: { definition: "report" } };
  expect(documentOf(draftOf(saved, same), same).document).toEqual(saved);
});

test("an input that is no JSON is said, and not sent", () => {
  const { document, inputProblem } = documentOf({ ...newDraft("UTC", "order"), input: "{" }, same);
  expect(inputProblem).toContain("no JSON");
  expect(document).not.toHaveProperty("input");
});

test("problems stand at their fields", () => {
  expect(["$.cron", "$.target", "$.target.version", "$.catchUp.window", "$.input.a", "$.timezone", "$"].map(fieldOf)).toEqual(["cron", "targetId", "version", "span", "input", "timezone", ""]);
  expect(problemText({ code: "TEN-2720", path: "$.cron", message: "there are 3 fields", advice: "Write five." })).toBe("TEN-2720: there are 3 fields. Write five.");
});

test("ticks say what became of them", () => {
  const at = { nominal: "2026-11-17T09:00:00.000Z", at: "2026-11-17T09:00:00.000Z" };
  expect(tickWords({ ...at, outcome: "started", cause: "trigger" })).toBe("started by hand");
  expect(tickWords({ ...at, outcome: "skipped", count: 3, reason: "another instance ran" })).toBe("skipped 3 times: another instance ran");
  expect(tickReason({ ...at, outcome: "started" })).toBe("–");
  expect(tickReason({ ...at, outcome: "missed", count: 2, cause: "schedule", reason: "the service was down" })).toBe("2 times, the service was down");
  const ids = ["a", "b", "c"].map((instanceId) => ({ ...at, outcome: "started", instanceId }));
  expect(failedInARow(ids, new Map([["a", "RUNNING"], ["b", "FAILED"], ["c", "FAILED"]]))).toBe(2);
  expect(failedInARow(ids, new Map([["a", "FAILED"], ["b", "COMPLETED"], ["c", "FAILED"]]))).toBe(1);
  expect(tickSummary([{ ...at, outcome: "started" }, { ...at, outcome: "missed", count: 4 }, { ...at, outcome: "started" }])).toBe("2 started, 4 missed");
  expect(tickStatus({ outcome: "started" }, "FAILED")).toBe("FAILED");
  expect(tickStatus({ outcome: "missed" })).toBe("MISSED");
});

test("durations are read as words", () => {
  expect(["P1D", "PT5M", "P2DT1H", "PT90S", "soon"].map(spanWords)).toEqual(["day", "5 minutes", "2 days 1 hour", "90 seconds", "soon"]);
});

test("holidays among the times to come are named, and weekends are not", () => {
  const items = ["Sat 3 Oct 2026 is a holiday: German Unity Day", null, "Sun 4 Oct 2026 is not a working day", "Mon 5 Oct 2026 is a day off"].map((skipped) => ({ skipped }));
  expect(skipWords(items)).toBe("skips 3 Oct, 5 Oct");
  expect(skipWords([{ skipped: "Sun 4 Oct 2026 is not a working day" }, {}])).toBeNull();
});
