import { Settings } from "lucide-react";

import type { PageEntry } from "../../app/pages";

export const pages: readonly PageEntry[] = [
  {
    path: "/settings",
    title: "Settings",
    load: () => import("./Page"),
    nav: { group: "Manage", order: 30, icon: Settings, key: "," },
  },
];
