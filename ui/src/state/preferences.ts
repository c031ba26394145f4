import { makeStore, useStore } from "./store";

/** What a viewer chose for this browser. Nothing here is secret: it outlives the session. */
export interface Preferences {
  theme: "system" | "light" | "dark";
  times: "local" | "utc" | "relative";
  /** Single letters as shortcuts, which some people must be able to turn off (WCAG 2.1.4). */
  letterKeys: boolean;
}

/** public/theme.js reads the same place before the first paint. */
const PLACE = "tenuto.preferences";
const DEFAULTS: Preferences = { theme: "system", times: "local", letterKeys: true };

function stored(): Preferences {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(PLACE) ?? "{}");
    return { ...DEFAULTS, ...(typeof found === "object" ? found : {}) };
  } catch {
    return DEFAULTS;
  }
}

export const preferences = makeStore(stored());
export const usePreferences = (): Preferences => useStore(preferences);

export function prefer(change: Partial<Preferences>): void {
  const next = { ...preferences.get(), ...change };
  preferences.set(next);
  try {
    localStorage.setItem(PLACE, JSON.stringify(next));
  } catch {
    // Without storage the choice lasts as long as the page.
  }
  showTheme();
}

/** The theme as an attribute of <html>; without one the system decides. */
export function showTheme(): void {
  const { theme } = preferences.get();
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}
