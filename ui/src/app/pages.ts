import type { ComponentType } from "react";
import type { LucideIcon } from "lucide-react";

import { later, type Later } from "../kit/later";

export const GROUPS = ["Watch", "Define", "Operate", "Manage"] as const;
export type Group = (typeof GROUPS)[number];

/** What a page gets: the parameters of its path. Everything else it reads from the URL. */
export interface PageProps {
  params: Record<string, string>;
}

/** A page as its folder declares it in `page.ts`. */
export interface PageEntry {
  /** Such as "/instances/:id"; the first of several that fit is taken, exact ones before those with parameters. */
  path: string;
  title: string;
  load: () => Promise<{ default: ComponentType<PageProps> }>;
  /** What the principal needs; without it the page says so, and the navigation leaves it out. */
  permission?: string;
  /** The part of the service that it shows, where a service may lack it. */
  capability?: string;
  /** Its place in the navigation; pages that belong to another one have none. */
  nav?: { group: Group; order: number; icon: LucideIcon; /** The second key of "g i". */ key?: string };
}

export interface RegisteredPage extends PageEntry {
  Component: Later<PageProps>;
}

const found = import.meta.glob<{ pages: readonly PageEntry[] }>("../pages/*/page.ts", { eager: true });

/** Every page, found by its folder: a new page touches no other file. */
export const PAGES: readonly RegisteredPage[] = Object.values(found)
  .flatMap((module) => module.pages)
  .map((page) => ({ ...page, Component: later(page.load) }))
  .sort((one, other) => weight(one.path) - weight(other.path) || other.path.length - one.path.length);

/** The page that an address below the base shows. */
export const pageAt = (path: string): RegisteredPage | undefined => PAGES.find((page) => new RegExp(`^${page.path.replace(/:\w+/g, "[^/]+")}/?$`).test(path));

function weight(path: string): number {
  return path.split("/").filter((part) => /^[:*]/.test(part)).length;
}

/** In the order of the navigation, which the palette and the map of keys follow. */
export const NAV_PAGES: readonly RegisteredPage[] = GROUPS.flatMap((group) =>
  PAGES.filter((page) => page.nav?.group === group).sort((one, other) => (one.nav?.order ?? 0) - (other.nav?.order ?? 0)),
);
