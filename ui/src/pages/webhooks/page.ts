import { Webhook } from "lucide-react";

import type { PageEntry } from "../../app/pages";

export const pages: readonly PageEntry[] = [
  {
    path: "/webhooks",
    title: "Webhooks",
    load: () => import("./Page"),
    permission: "listeners:read",
    capability: "webhooks",
    nav: { group: "Operate", order: 30, icon: Webhook, key: "c" },
  },
  { path: "/webhooks/:id", title: "Webhook", load: () => import("./WebhookPage"), permission: "listeners:read" },
  { path: "/subscriptions/:id", title: "Subscription", load: () => import("./SubscriptionPage"), permission: "listeners:read" },
];
