import { KeyRound } from "lucide-react";

import type { PageEntry } from "../../app/pages";

export const pages: readonly PageEntry[] = [
  {
    path: "/keys",
    title: "API keys",
    load: () => import("./Page"),
    permission: "keys:manage",
    capability: "keys",
    nav: { group: "Manage", order: 20, icon: KeyRound, key: "k" },
  },
];
