import { LockKeyhole } from "lucide-react";

import type { PageEntry } from "../../app/pages";

export const pages: readonly PageEntry[] = [
  {
    path: "/secrets",
    title: "Secrets",
    load: () => import("./Page"),
    permission: "secrets:read",
    capability: "secrets",
    nav: { group: "Define", order: 40, icon: LockKeyhole, key: "x" },
  },
];
