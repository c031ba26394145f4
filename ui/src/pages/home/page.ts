import { House } from "lucide-react";

import type { PageEntry } from "../../app/pages";

export const pages: readonly PageEntry[] = [
  {
    path: "/",
    title: "Home",
    load: () => import("./Page"),
    nav: { group: "Watch", order: 10, icon: House, key: "h" },
  },
  { path: "/how-to", title: "How to", load: () => import("./HowTo") },
];
