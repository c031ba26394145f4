/** The instances that an event reached, would reach, or nearly reached. */

import { asArray, asNumber, asObject, asText, type Json } from "./json";

export interface Recipient {
  /** "resumed", "cancelled", "started", "refused", or another word of the service. */
  what: string;
  instance: string | null;
  step: string | null;
  iteration: string;
  arm: string | null;
  /** The workflow whose trigger took it. */
  workflow: string | null;
  reason: string | null;
  /** Which parts of its condition were false, of a near miss. */
  failed: Json | undefined;
}

export function recipientOf(given: unknown): Recipient {
  const place = asObject(given);
  return {
    what: asText(place["what"]) ?? "",
    instance: asText(place["instanceId"]),
    step: asText(place["stepId"]),
    iteration: asText(place["iteration"]) ?? "",
    arm: asText(place["armId"]),
    workflow: asText(place["workflowId"]),
    reason: asText(place["reason"]),
    failed: place["failed"],
  };
}

export interface WaitPlace {
  instance: string;
  step: string;
  iteration: string;
}

/** What a dry run says of one wait: that the event reaches it, or nearly; null: neither. */
export function atWait(answer: unknown, list: "targets" | "nearMisses", place: WaitPlace): Recipient | null {
  const { instance, step, iteration } = place;
  return asArray(asObject(answer)[list]).map(recipientOf).find((each) => each.instance === instance && each.step === step && each.iteration === iteration) ?? null;
}

/** "1 wait resumed, 2 instances started"; "" where nothing was. */
export function reachedWords(counts: unknown): string {
  const given = asObject(counts);
  const parts = [
    ["resumed", "wait", "resumed"],
    ["cancelled", "instance", "cancelled"],
    ["started", "instance", "started"],
  ] as const;
  return parts
    .flatMap(([name, one, done]) => {
      const number = asNumber(given[name]) ?? 0;
      return number === 0 ? [] : [`${number} ${number === 1 ? one : `${one}s`} ${done}`];
    })
    .join(", ");
}
