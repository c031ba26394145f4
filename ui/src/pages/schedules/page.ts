import { CalendarClock } from "lucide-react";

import type { PageEntry } from "../../app/pages";

export const pages: readonly PageEntry[] = [
  {
    path: "/schedules",
    title: "Schedules",
    load: () => import("./Page"),
    permission: "schedules:read",
    capability: "schedules",
    nav: { group: "Define", order: 20, icon: CalendarClock, key: "s" },
  },
  { path: "/schedules/:id", title: "Schedule", load: () => import("./SchedulePage"), permission: "schedules:read", capability: "schedules" },
];
