import { Link, useLocation } from "wouter";

import { useMe } from "../api/me";
import { classes } from "../kit/classes";
import styles from "./Frame.module.css";
import { GROUPS, NAV_PAGES, type RegisteredPage } from "./pages";

/** The pages that the principal may see and the service has, in their groups. */
export function useNavPages(): readonly RegisteredPage[] {
  const me = useMe();
  const permissions = me?.principal?.permissions ?? [];
  return NAV_PAGES.filter(
    ({ permission, capability }) =>
      (permission === undefined || permissions.includes(permission)) &&
      (capability === undefined || me?.capabilities[capability] === true),
  );
}

export function Navigation({ className }: { className: string }) {
  const pages = useNavPages();
  const [place] = useLocation();
  return (
    <nav id="navigation" aria-label="Pages" className={className}>
      {GROUPS.map((group) => {
        const own = pages.filter((page) => page.nav?.group === group);
        if (own.length === 0) return null;
        return (
          <div key={group} className={styles["group"]}>
            <h2>{group}</h2>
            <ul>
              {own.map(({ path, title, nav }) => {
                const isHere = path === "/" ? place === "/" : place === path || place.startsWith(`${path}/`);
                const Icon = nav?.icon;
                return (
                  <li key={path}>
                    <Link href={path} className={classes(styles["page"], isHere && styles["here"])} aria-current={isHere ? "page" : undefined}>
                      {Icon !== undefined && <Icon aria-hidden />}
                      {title}
                    </Link>
                  </li>
                );
              })}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}
