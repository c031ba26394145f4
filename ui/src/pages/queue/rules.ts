/** Rules of the queue: what is edited, what is sent, what a rule would do. */

import type { Shape } from "../../api/types";
import { count, counted } from "../../core/format";

export type Rule = Shape<"SavedQueueRule">;

export interface RuleDraft {
  when: string;
  priority: string;
  hold: boolean;
  note: string;
}

export const EMPTY: RuleDraft = { when: "", priority: "", hold: false, note: "" };

/** What is sent; a priority that is no number goes to the service as it is, which says so. */
export function ruleOf({ when, priority, hold, note }: RuleDraft): { when: string; hold: boolean; priority?: number; note?: string } {
  return { when: when.trim(), hold, ...(priority.trim() === "" ? {} : { priority: Number(priority) }), ...(note.trim() === "" ? {} : { note: note.trim() }) };
}

/** What is missing before the service can be asked; empty: nothing. */
export function missing({ when, priority, hold }: RuleDraft): string {
  if (when.trim() === "") return "Write which instances the rule is for, and see here how many of those that wait match.";
  if (priority.trim() === "" && !hold) return "Give a priority, or hold them back.";
  return "";
}

export const isWhole = (text: string): boolean => text.trim() === "" || /^-?\d+$/.test(text.trim());

/** What a rule does, in words: "priority 7, held back". */
export function ruleWords({ priority, hold }: Pick<Rule, "priority" | "hold">): string {
  const said = [...(priority === null || priority === undefined ? [] : [`priority ${count(priority)}`]), ...(hold === true ? ["held back"] : [])];
  return said.join(", ");
}

/** What a dry run has found, in one sentence. */
export function matchWords({ matched, examined, isComplete }: Pick<Rule, "matched" | "examined" | "isComplete">): string {
  const [some, all] = [matched ?? 0, examined ?? 0];
  if (all === 0) return "No instance waits at the moment. The rule would hold for new ones.";
  const first = `${some === 0 ? "None" : count(some)} of ${counted(all, "instance")} that ${all === 1 ? "waits" : "wait"} ${some === 1 ? "matches" : some === 0 ? "match".concat(all === 1 ? "es" : "") : "match"}.`;
  return `${first}${isComplete === false ? " Only the first ones were looked at." : ""} New ones that match are treated alike.`;
}
