import { ScrollText } from "lucide-react";

import type { PageEntry } from "../../app/pages";

export const pages: readonly PageEntry[] = [
  {
    path: "/audit",
    title: "Audit",
    load: () => import("./Page"),
    permission: "audit:read",
    capability: "audit",
    nav: { group: "Manage", order: 10, icon: ScrollText, key: "u" },
  },
];
