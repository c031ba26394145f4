import type { PageEntry } from "../../app/pages";

export const pages: readonly PageEntry[] = [{ path: "/instances/:id/widget", title: "Widget", load: () => import("./Page"), permission: "instances:read", capability: "widgets" }];
