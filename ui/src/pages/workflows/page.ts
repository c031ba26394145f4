import { Workflow } from "lucide-react";

import type { PageEntry } from "../../app/pages";

export const pages: readonly PageEntry[] = [
  {
    path: "/workflows",
    title: "Workflows",
    load: () => import("./Page"),
    permission: "workflows:read",
    capability: "workflows",
    nav: { group: "Define", order: 10, icon: Workflow, key: "w" },
  },
  { path: "/workflows/:id", title: "Workflow", load: () => import("./WorkflowPage"), permission: "workflows:read" },
  { path: "/workflows/:id/start", title: "Start", load: () => import("./StartPage"), permission: "instances:start" },
];
