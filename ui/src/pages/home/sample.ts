/** The example order of `make run`: it waits for its payment, which the page can send. */

import type { Action } from "../../core/commands";
import { asObject, asText } from "../../core/json";

export const SAMPLE = "order";
export const PATTERN = "payment.received";

export const startOf = (number: number): Extract<Action, { kind: "start" }> => ({
  kind: "start",
  workflow: SAMPLE,
  input: { orderId: `A${number}`, items: ["metronome"] },
});

export const paymentOf = (orderId: string): Extract<Action, { kind: "publish" }> => ({
  kind: "publish",
  pattern: PATTERN,
  payload: { orderId, id: `p-${orderId}`, amount: 12 },
});

/** The order of an instance; null: it is another workflow of the same name. */
export const orderIdOf = (input: unknown): string | null => asText(asObject(input)["orderId"]);
