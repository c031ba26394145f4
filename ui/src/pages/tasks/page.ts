import { Cpu, Wrench } from "lucide-react";

import type { PageEntry } from "../../app/pages";

export const pages: readonly PageEntry[] = [
  {
    path: "/tasks",
    title: "Tasks",
    load: () => import("./Page"),
    permission: "tasks:read",
    capability: "tasks",
    nav: { group: "Operate", order: 20, icon: Wrench, key: "t" },
  },
  {
    path: "/workers",
    title: "Workers",
    load: () => import("./WorkersPage"),
    permission: "tasks:read",
    capability: "workers",
    nav: { group: "Operate", order: 21, icon: Cpu, key: "o" },
  },
];
