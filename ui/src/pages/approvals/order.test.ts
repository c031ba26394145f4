import { expect, test } from "vitest";

import { assignees, inboxOrder } from "./order";

const open = (name: string, given: object = {}) => ({ name, mayDecide: true, isOverdue: false, dueAt: null, openedAt: "2026-01-01T00:00:00Z", ...given });

test("what I may decide comes first, overdue ones before those that are due, and the oldest first", () => {
  const inbox = [
    open("other", { mayDecide: false, isOverdue: true, dueAt: "2025-01-01T00:00:00Z" }),
    open("late"),
    open("early", { openedAt: "2025-12-01T00:00:00Z" }),
    open("due", { dueAt: "2026-03-01T00:00:00Z" }),
    open("sooner", { dueAt: "2026-02-01T00:00:00Z" }),
    open("overdue", { isOverdue: true, dueAt: "2026-01-02T00:00:00Z" }),
  ];
  expect(inbox.sort(inboxOrder).map(({ name }) => name)).toEqual(["overdue", "sooner", "due", "early", "late", "other"]);
});

test("those who may decide are named", () => {
  expect(assignees({ users: ["ann"], roles: ["operator"] })).toBe("ann, role operator");
  expect(assignees({ users: [], roles: [] })).toBe("everyone");
});
