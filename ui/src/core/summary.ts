/** "Copy as text": an instance in a few lines, for a chat or a ticket. */

import { explanationOf } from "./explain";
import { duration, exactUtc } from "./format";
import { asNumber, asObject, asText, type Json } from "./json";
import { keyOf } from "./log";
import type { Activation, InstanceState } from "./state";

export interface SummaryOf {
  /** As `GET /instances/{id}` shows it. */
  instance: unknown;
  /** As `GET /instances/{id}/explain` shows it. */
  explanation?: unknown;
  /** Its log, folded: the summary has the attempts of the step that failed. */
  state?: InstanceState;
  /** The address of the page. */
  link: string;
  /** Milliseconds since 1970. */
  now: number;
}

/** The most attempts and characters of a message: a chat is no archive. */
const MOST_ATTEMPTS = 5;
const MOST_TEXT = 300;

export function summaryOf({ instance, explanation, state, link, now }: SummaryOf): string {
  const view = asObject(instance);
  const status = asText(view["status"]) ?? "UNKNOWN";
  const workflow = asText(view["workflowDefinitionId"]) ?? "unknown workflow";
  const version = asNumber(view["definitionVersion"]);
  const lines = [`${workflow}${version === null ? "" : ` v${version}`} is ${status}`];
  lines.push(`instance ${asText(view["id"]) ?? ""}`);
  const correlationId = asText(view["correlationId"]);
  if (correlationId !== null) lines.push(`correlation id ${shortened(correlationId)}`);
  lines.push(...times(view, now));
  const why = explanation === undefined ? "" : explanationOf(explanation).summary;
  if (why) lines.push(`why: ${shortened(why)}`);
  lines.push(...errorLines(view["lastError"], state));
  const cancellation = asObject(view["cancellation"]);
  const requestedBy = asText(cancellation["requestedBy"]);
  if (requestedBy !== null) {
    const reason = asText(cancellation["reason"]);
    lines.push(`cancelled by ${requestedBy}${reason === null ? "" : `: ${shortened(reason)}`}`);
  }
  lines.push(...undone(view["compensationState"]));
  lines.push(link);
  return lines.join("\n");
}

function times(view: { [name: string]: Json }, now: number): string[] {
  const started = asText(view["startedAt"]) ?? asText(view["createdAt"]);
  const completed = asText(view["completedAt"]);
  if (started === null) return [];
  const from = Date.parse(started);
  const begun = `started ${exactUtc(from)}`;
  if (completed === null) return [`${begun}, ${duration(now - from)} ago`];
  const to = Date.parse(completed);
  return [`${begun}, ended ${exactUtc(to)} after ${duration(to - from)}`];
}

function errorLines(value: Json | undefined, state: InstanceState | undefined): string[] {
  const error = asObject(value);
  const code = asText(error["code"]);
  if (code === null) return [];
  const step = asText(error["stepId"]);
  const iteration = asText(error["iteration"]) ?? "";
  const message = shortened(asText(error["message"]) ?? "");
  const place =
    step === null ? "" : `step ${keyOf(step, iteration)} failed on attempt ${asNumber(error["attempt"]) ?? 1}: `;
  const node = step === null ? undefined : state?.activations.get(keyOf(step, iteration));
  return [`${place}${code}${message ? `: ${message}` : ""}`, ...(node ? attemptLines(node) : [])];
}

function attemptLines(node: Activation): string[] {
  const shown = node.attempts.slice(-MOST_ATTEMPTS);
  const left = node.attempts.length - shown.length;
  const lines = shown.map((attempt) => {
    const at = exactUtc(Date.parse(attempt.orderedAt));
    const took = attempt.endedAt === null ? null : Date.parse(attempt.endedAt) - Date.parse(attempt.orderedAt);
    const error = attempt.error ? ` ${attempt.error.code}` : "";
    return `  attempt ${attempt.number} at ${at}: ${attempt.outcome}${error}${took === null ? "" : ` after ${duration(took)}`}`;
  });
  return left > 0 ? [`  ${left} earlier attempts`, ...lines] : lines;
}

function undone(value: Json | undefined): string[] {
  const view = asObject(value);
  const status = asText(view["status"]);
  if (status === null) return [];
  const count = (name: string) => (Array.isArray(view[name]) ? view[name].length : 0);
  const failed = count("failed") > 0 ? `, ${count("failed")} failed` : "";
  return [`compensation ${status}: ${count("completed")} of ${count("plan")} undone${failed}`];
}

/** On one line, without control characters: text from outside cannot forge a line of its own. */
function shortened(text: string): string {
  const line = text
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\s]+/g, " ")
    .trim();
  const characters = [...line];
  return characters.length > MOST_TEXT ? `${characters.slice(0, MOST_TEXT - 1).join("")}…` : line;
}
