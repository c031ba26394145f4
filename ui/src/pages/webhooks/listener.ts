import type { Shape } from "../../api/types";

/** A webhook or a subscription, in one shape. */
export interface Listener {
  kind: "webhook" | "subscription";
  id: string;
  url: string;
  patterns: readonly string[];
  state: string;
  pending: number;
  oldestPending: string | null;
  deliveredAt: string | null;
  failingSince: string | null;
  lastError: string | null;
  disabledAt: string | null;
  createdAt: string;
  gaps: readonly Shape<"Gap">[];
  description: string | null;
  subscriberId: string | null;
  filter: string | null;
  correlationId: string | null;
  expiresAt: string | null;
}

export const ofWebhook = (given: Shape<"Webhook">): Listener => ({ ...given, kind: "webhook", subscriberId: null, filter: null, correlationId: null, expiresAt: null });

/** One that has expired says so, whatever became of its last delivery. */
export const ofSubscription = (given: Shape<"Subscription">): Listener => ({
  ...given,
  kind: "subscription",
  url: given.callbackUrl,
  state: given.expired === true ? "expired" : given.state,
  expiresAt: given.expirationTime,
});

export const hrefOf = ({ kind, id }: Pick<Listener, "kind" | "id">): string => `/${kind}s/${encodeURIComponent(id)}`;
