import { MailX } from "lucide-react";

import type { PageEntry } from "../../app/pages";

export const pages: readonly PageEntry[] = [
  {
    path: "/dead-letters",
    title: "Dead letters",
    load: () => import("./Page"),
    permission: "dead-letters:read",
    capability: "dead-letters",
    nav: { group: "Operate", order: 10, icon: MailX, key: "d" },
  },
  { path: "/dead-letters/:id", title: "Dead letter", load: () => import("./LetterPage"), permission: "dead-letters:read" },
];
