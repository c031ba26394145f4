/** The sample order: it waits for its payment, which the page can send. `make run` serves one, and an empty store gets one by a press. */

import type { Action } from "../../core/commands";
import { asObject, asText } from "../../core/json";

/** The example that `make run` serves. */
const SERVED = "order";
/** The one for a store without workflows: of steps that need no task. */
export const OWN_SAMPLE = "sample_order";
export const SAMPLE_DEFINITION = {
  id: OWN_SAMPLE,
  name: "Sample order",
  description: "Waits for its payment, and is packed then. Made on the home page; it needs no task.",
  inputSchema: { type: "object", required: ["orderId"], properties: { orderId: { type: "string", examples: ["A1"] }, items: { type: "array", items: { type: "string" } } } },
  steps: [
    {
      stepId: "wait_for_payment",
      type: "EVENT_WAIT",
      eventPattern: "payment.received",
      eventCondition: "event.payload.orderId === workflow.input.orderId",
      eventPayloadMapping: { paymentId: "id", paymentAmount: "amount" },
      transitions: { default: "pack" },
    },
    { stepId: "pack", type: "DELAY", duration: "PT2S" },
  ],
};

/** Which of these workflows is a sample; undefined: none. */
export const sampleOf = (ids: readonly string[]): string | undefined => [SERVED, OWN_SAMPLE].find((id) => ids.includes(id));

export const PATTERN = "payment.received";

export const startOf = (workflow: string, number: number): Extract<Action, { kind: "start" }> => ({
  kind: "start",
  workflow,
  input: { orderId: `A${number}`, items: ["metronome"] },
});

export const paymentOf = (orderId: string): Extract<Action, { kind: "publish" }> => ({
  kind: "publish",
  pattern: PATTERN,
  payload: { orderId, id: `p-${orderId}`, amount: 12 },
});

/** The order of an instance; null: it is another workflow of the same name. */
export const orderIdOf = (input: unknown): string | null => asText(asObject(input)["orderId"]);
