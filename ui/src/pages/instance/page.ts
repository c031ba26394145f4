import type { PageEntry } from "../../app/pages";

export const pages: readonly PageEntry[] = [
  { path: "/instances/:id", title: "Instance", load: () => import("./Page"), permission: "instances:read" },
];
