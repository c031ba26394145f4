import { Layers } from "lucide-react";

import type { PageEntry } from "../../app/pages";

export const pages: readonly PageEntry[] = [
  {
    path: "/operations",
    title: "Bulk operations",
    load: () => import("./Page"),
    permission: "instances:read",
    nav: { group: "Operate", order: 15, icon: Layers, key: "b" },
  },
  { path: "/operations/:id", title: "Bulk operation", load: () => import("./OperationPage"), permission: "instances:read" },
];
