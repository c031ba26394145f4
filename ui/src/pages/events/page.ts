import { Radio } from "lucide-react";

import type { PageEntry } from "../../app/pages";

export const pages: readonly PageEntry[] = [
  {
    path: "/events",
    title: "Events",
    load: () => import("./Page"),
    permission: "events:read",
    capability: "events",
    nav: { group: "Watch", order: 40, icon: Radio, key: "e" },
  },
  { path: "/events/publish", title: "Publish an event", load: () => import("./PublishPage"), permission: "events:publish" },
  { path: "/events/:id", title: "Event", load: () => import("./EventPage"), permission: "events:read" },
];
