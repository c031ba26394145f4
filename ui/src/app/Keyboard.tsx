import { lazy, Suspense, useEffect, useMemo, useRef } from "react";
import { useLocation } from "wouter";

import { pressed, shortcuts, useKeys } from "../kit/keys";
import { prefer, preferences } from "../state/preferences";
import { useStore } from "../state/store";
import { useNavPages } from "./Navigation";
import { closeDialog, dialog, openKeys, openPalette } from "./dialogs";

const Palette = lazy(() => import("./Palette"));
const KeyMap = lazy(() => import("./KeyMap"));
const SEQUENCE_MS = 1_200;
const NEXT_TIMES = { local: "utc", utc: "relative", relative: "local" } as const;

/** Keys that work everywhere, and the dialogs that they open. */
export function Keyboard() {
  const open = useStore(dialog);
  const [, navigate] = useLocation();
  const pages = useNavPages();
  const goTo = useMemo(
    () => pages.flatMap(({ nav, title, path }) => (nav?.key === undefined ? [] : [{ keys: `g ${nav.key}`, label: `Go to ${title}`, run: () => navigate(path) }])),
    [pages, navigate],
  );
  useKeys([
    ...goTo,
    { keys: "?", label: "Show the keys", run: openKeys },
    { keys: "t", label: "Times: local, UTC, relative", run: () => prefer({ times: NEXT_TIMES[preferences.get().times] }) },
  ]);
  const begun = useRef<{ key: string; at: number } | null>(null);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        openPalette();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isTyping(event) || dialog.get() !== null) return;
      if (!preferences.get().letterKeys && event.key.length === 1 && event.key !== "?") return;
      const before = begun.current !== null && event.timeStamp - begun.current.at < SEQUENCE_MS ? begun.current.key : null;
      begun.current = null;
      const meant = pressed(shortcuts.get(), before, event.key);
      if (meant === "begun") begun.current = { key: event.key, at: event.timeStamp };
      else if (meant !== null) {
        event.preventDefault();
        meant.run();
      }
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
  if (open === null) return null;
  return <Suspense>{open === "palette" ? <Palette onClose={closeDialog} /> : <KeyMap onClose={closeDialog} />}</Suspense>;
}

/** Whether the key belongs to a field, a menu or a dialog; tabs take only those that move between them. */
function isTyping(event: KeyboardEvent): boolean {
  const [target] = event.composedPath();
  if (!(target instanceof HTMLElement)) return false;
  if (event.key.length > 1 && target.closest("[role=tablist]") !== null) return true;
  return target.isContentEditable || target.closest("input, textarea, select, dialog, [role=menu]") !== null;
}
