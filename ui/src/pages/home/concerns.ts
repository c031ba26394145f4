/** What needs attention, each in one sentence with one thing to do. */

import type { Shape } from "../../api/types";
import type { Tone } from "../../kit/status";
import { shortId } from "../../core/ids";
import { link, path } from "../../core/url";

export type Item = Shape<"AttentionItem">;
export type Group = Shape<"AttentionGroup">;

export interface Concern {
  key: string;
  tone: Tone;
  /** What it is about, and what is wrong with it. */
  subject: string;
  text: string;
  at: string | null;
  href: string;
  /** What the button says; `retry` does it at once, the others lead there. */
  action: { label: string; does: "retry" | "open" };
}

const search = (q: string): string => link("/instances", new URLSearchParams({ q }));

/** One concern for all failures of a group that say the same; else one each. */
export function concernsOf({ items, hasMore }: Pick<Group, "items" | "hasMore">): { concern: Concern; item: Item }[] {
  const alike = new Map<string, Item[]>();
  for (const item of items) {
    const key = item.kind === "failed" ? JSON.stringify([item.workflowId, item.stepId, said(item)]) : concernOf(item).key;
    alike.set(key, [...(alike.get(key) ?? []), item]);
  }
  return [...alike.values()].map((all) => {
    const item = all[0] as Item;
    const concern = concernOf(item);
    if (all.length === 1) return { concern, item };
    const times = `${all.length}${hasMore ? " times or more" : " times"}`;
    const href = search(`status:failed workflow:${quoted(item.workflowId ?? "")}`);
    return { item, concern: { ...concern, text: concern.text.replace(/^failed/, `failed ${times}`), href, action: { label: "See all", does: "open" } } };
  });
}

const quoted = (word: string): string => (/^[\w.-]+$/.test(word) ? word : JSON.stringify(word));

export function concernOf(item: Item): Concern {
  const at = { key: `${item.kind} ${item.id} ${item.stepId ?? ""} ${item.iteration ?? ""}`, at: item.at };
  const message = said(item);
  const step = item.stepId ?? null;
  switch (item.kind) {
    case "failed":
      return {
        ...at,
        tone: "red",
        subject: item.workflowId ?? "Instance",
        text: `failed${step === null ? "" : ` at ${step}`}: ${message}`,
        href: path("instances", item.id),
        action: { label: "Retry", does: "retry" },
      };
    case "quarantined":
      return { ...at, tone: "red", subject: `Instance ${shortId(item.id)}`, text: `was set aside: ${message}`, href: path("instances", item.id), action: { label: "See why", does: "open" } };
    case "approval":
      return {
        ...at,
        tone: "amber",
        subject: item.workflowId ?? "Approval",
        text: `waits for a decision that is overdue${step === null ? "" : `, at ${step}`}`,
        href: "/approvals",
        action: { label: "Decide", does: "open" },
      };
    case "deadLetter":
      return { ...at, tone: "red", subject: step ?? "A task", text: `is in dead letters: ${message}`, href: path("dead-letters", item.id), action: { label: "See letter", does: "open" } };
    case "breaker":
      return { ...at, tone: "amber", subject: `Breaker of ${item.id}`, text: `is open: ${message}`, href: link("/tasks", new URLSearchParams({ task: item.id })), action: { label: "See task", does: "open" } };
    case "webhook":
    case "subscription":
      return {
        ...at,
        tone: "amber",
        subject: `${item.kind === "webhook" ? "Webhook" : "Subscription"} ${item.id}`,
        text: `does not get through: ${message}`,
        href: path(`${item.kind}s`, item.id),
        action: { label: "See deliveries", does: "open" },
      };
    case "schedule":
      return { ...at, tone: "red", subject: `Schedule ${item.id}`, text: `starts nothing: ${message}`, href: path("schedules", item.id), action: { label: "See schedule", does: "open" } };
    default:
      // A kind that this version does not know is shown all the same.
      return { ...at, tone: "amber", subject: String((item as Item).kind), text: message, href: "/instances", action: { label: "Look", does: "open" } };
  }
}

/** Where the rest of a kind is listed. */
export function allOf(kind: Item["kind"], hours: number): { label: string; href: string } {
  switch (kind) {
    case "failed":
      return { label: "All failed instances", href: search(`status:failed changed-since:${hours}h`) };
    case "deadLetter":
      return { label: "All dead letters", href: "/dead-letters" };
    case "approval":
      return { label: "All approvals", href: "/approvals" };
    case "breaker":
      return { label: "All tasks", href: "/tasks" };
    case "schedule":
      return { label: "All schedules in error", href: "/schedules?status=error" };
    case "webhook":
    case "subscription":
      return { label: "All webhooks and subscriptions", href: "/webhooks" };
    default:
      return { label: "All instances", href: "/instances" };
  }
}

/** A dead letter of an instance that is listed as failed says the same once more. */
export function withoutRepeats(groups: readonly Group[]): Group[] {
  const failed = new Set(groups.filter(({ kind }) => kind === "failed").flatMap(({ items }) => items.map(({ id }) => id)));
  return groups
    .map((group) => (group.kind === "deadLetter" ? { ...group, items: group.items.filter(({ instanceId }) => !failed.has(instanceId ?? "")) } : group))
    .filter(({ items, hasMore }) => items.length > 0 || hasMore);
}

/** The code tells what a message alone may not: `'orderId'` is a KeyError. */
function said({ code, message, kind }: Item): string {
  const isFailure = kind === "failed" || kind === "deadLetter";
  return isFailure && code != null && !message.startsWith(code) ? `${code}: ${firstLine(message)}` : firstLine(message);
}

const firstLine = (text: string): string => (text.split("\n", 1)[0] ?? "").trim().slice(0, 200) || "without a message";
