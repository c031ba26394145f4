import { ChevronRight } from "lucide-react";
import { useEffect, type ReactNode } from "react";
import { Link } from "wouter";

import { classes } from "./classes";
import styles from "./Page.module.css";

export interface Crumb {
  label: string;
  href: string;
}

/** The frame of every page: where it is, its heading, what can be done, and the content. */
export function Page({
  title,
  heading = title,
  crumbs = [],
  actions,
  isFilled = false,
  children,
}: {
  /** Of the browser's tab. */
  title: string;
  /** Where the heading is more than the title. */
  heading?: ReactNode;
  crumbs?: readonly Crumb[];
  actions?: ReactNode;
  /** The content fills the window and scrolls by parts, such as a virtual list; else the page scrolls. */
  isFilled?: boolean;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · Tenuto`;
  }, [title]);
  return (
    <div className={classes(styles["page"], isFilled && styles["filled"])}>
      <header className={styles["head"]}>
        <div className={styles["where"]}>
          {crumbs.length > 0 && (
            <nav aria-label="Breadcrumb">
              <ol className={styles["crumbs"]}>
                {crumbs.map((crumb) => (
                  <li key={crumb.href}>
                    <Link href={crumb.href}>{crumb.label}</Link>
                    <ChevronRight aria-hidden />
                  </li>
                ))}
              </ol>
            </nav>
          )}
          <h1>{heading}</h1>
        </div>
        {actions !== undefined && <div className={styles["actions"]}>{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** A part of a page that scrolls with it, with the page's margins. */
export function Section({ title, actions, children }: { title?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  return (
    <section className={styles["section"]}>
      {(title !== undefined || actions !== undefined) && (
        <header className={styles["sectionHead"]}>
          {title !== undefined && <h2>{title}</h2>}
          {actions}
        </header>
      )}
      {children}
    </section>
  );
}
