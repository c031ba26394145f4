import { CalendarDays } from "lucide-react";

import type { PageEntry } from "../../app/pages";

export const pages: readonly PageEntry[] = [
  {
    path: "/calendars",
    title: "Calendars",
    load: () => import("./Page"),
    permission: "schedules:read",
    capability: "schedules",
    nav: { group: "Define", order: 30, icon: CalendarDays, key: "y" },
  },
  { path: "/calendars/:id", title: "Calendar", load: () => import("./CalendarPage"), permission: "schedules:read", capability: "schedules" },
];
