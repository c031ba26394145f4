import { ListTree } from "lucide-react";

import type { PageEntry } from "../../app/pages";

export const pages: readonly PageEntry[] = [
  {
    path: "/instances",
    title: "Instances",
    load: () => import("./Page"),
    permission: "instances:read",
    nav: { group: "Watch", order: 20, icon: ListTree, key: "i" },
  },
];
