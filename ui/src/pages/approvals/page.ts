import { Stamp } from "lucide-react";

import type { PageEntry } from "../../app/pages";

export const pages: readonly PageEntry[] = [
  {
    path: "/approvals",
    title: "Approvals",
    load: () => import("./Page"),
    permission: "instances:read",
    capability: "approvals",
    nav: { group: "Watch", order: 30, icon: Stamp, key: "a" },
  },
];
