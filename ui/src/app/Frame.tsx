import { Clock, LogOut, Menu as MenuIcon, Monitor, Moon, Search, Sun, X } from "lucide-react";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { Link, useLocation } from "wouter";

import { useMe } from "../api/me";
import { IconButton } from "../kit/Button";
import { classes } from "../kit/classes";
import { Menu } from "../kit/Menu";
import { prefer, usePreferences, type Preferences } from "../state/preferences";
import { session, signOut } from "../state/session";
import { useStore } from "../state/store";
import styles from "./Frame.module.css";
import { Keyboard } from "./Keyboard";
import { LivePill } from "./LivePill";
import { Navigation } from "./Navigation";
import { openPalette } from "./dialogs";

const THEMES = { system: "System", light: "Light", dark: "Dark" } as const;
const TIMES = { local: "Local time", utc: "UTC", relative: "Relative" } as const;

/** Around every page: the navigation, the bar above, and the page itself. */
export function Frame({ children }: { children: ReactNode }) {
  const [isMenuOpen, setIsMenuOpen] = useState(false);
  const [place] = useLocation();
  const main = useRef<HTMLElement>(null);
  const before = useRef(place);
  useEffect(() => {
    setIsMenuOpen(false);
    // A new page is read from its beginning, also by screen readers; the first one keeps the browser's own focus.
    if (before.current !== place) main.current?.focus({ preventScroll: true });
    before.current = place;
  }, [place]);
  return (
    <div className={styles["frame"]}>
      <button type="button" className={styles["skip"]} onClick={() => main.current?.focus()}>
        Skip to the page
      </button>
      <header className={styles["top"]}>
        <IconButton className={styles["menuButton"] ?? ""} label={isMenuOpen ? "Close navigation" : "Open navigation"} icon={isMenuOpen ? <X /> : <MenuIcon />} aria-expanded={isMenuOpen} aria-controls="navigation" onClick={() => setIsMenuOpen(!isMenuOpen)} />
        <Link href="/" className={styles["brand"]}>
          <svg viewBox="0 0 16 16" aria-hidden>
            <path d="M2 4h12" />
            <circle cx="8" cy="10" r="2.6" />
          </svg>
          Tenuto
        </Link>
        <Where />
        <button type="button" className={styles["search"]} aria-label="Go to or do… Ctrl K" onClick={openPalette}>
          <Search aria-hidden />
          <span>Go to or do…</span>
          <kbd>Ctrl K</kbd>
        </button>
        <div className={styles["end"]}>
          <LivePill />
          <Choice label="Times" field="times" options={TIMES} icon={<Clock />} />
          <ThemeChoice />
          <SignOut />
        </div>
      </header>
      <Navigation className={classes(styles["side"], isMenuOpen && styles["open"])} />
      <main ref={main} tabIndex={-1} className={styles["main"]}>
        {children}
      </main>
      <Keyboard />
    </div>
  );
}

/** Which environment and tenant this is: two of them must never be mistaken. */
function Where() {
  const me = useMe();
  const parts = [me?.environment, me?.principal?.tenant].filter((part) => part !== null && part !== undefined && part !== "" && part !== "default");
  if (parts.length === 0) return null;
  return <span className={styles["where"]}>{parts.join(" · ")}</span>;
}

function Choice<F extends "theme" | "times">({ label, field, options, icon }: { label: string; field: F; options: Record<Preferences[F], string>; icon: ReactNode }) {
  const chosen = usePreferences()[field];
  const names = Object.entries(options) as [Preferences[F], string][];
  return (
    <Menu
      label={label}
      trigger={<IconButton label={`${label}: ${options[chosen]}`} icon={icon} />}
      items={names.map(([value, name]) => ({ label: name, isChosen: value === chosen, onSelect: () => prefer({ [field]: value }) }))}
    />
  );
}

function ThemeChoice() {
  const { theme } = usePreferences();
  const icon = { system: <Monitor />, light: <Sun />, dark: <Moon /> }[theme];
  return <Choice label="Theme" field="theme" options={THEMES} icon={icon} />;
}

function SignOut() {
  const { key } = useStore(session);
  const me = useMe();
  if (key === null) return null;
  return <IconButton label={`Sign out ${me?.principal?.name ?? ""}`.trim()} icon={<LogOut />} onClick={signOut} />;
}
