import { ListOrdered } from "lucide-react";

import type { PageEntry } from "../../app/pages";

export const pages: readonly PageEntry[] = [
  {
    path: "/queue",
    title: "Queue",
    load: () => import("./Page"),
    permission: "instances:read",
    nav: { group: "Operate", order: 40, icon: ListOrdered, key: "q" },
  },
];
