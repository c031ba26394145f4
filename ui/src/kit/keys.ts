import { useEffect, useRef } from "react";

import { makeStore } from "../state/store";

export interface Shortcut {
  /** One key as `KeyboardEvent.key` names it ("j", "?", "Escape"), or two one after the other ("g i"). */
  keys: string;
  label: string;
  run: () => void;
}

/** The shortcuts of what is shown, newest last; the map of keys lists them. */
export const shortcuts = makeStore<readonly Shortcut[]>([]);

/** Shortcuts while a component is shown: `useKeys([{keys: "r", label: "Rerun", run}])`. */
export function useKeys(own: readonly Shortcut[]): void {
  const latest = useRef(own);
  latest.current = own;
  const names = own.map(({ keys, label }) => `${keys}\n${label}`).join("\n\n");
  useEffect(() => {
    const added = latest.current.map(({ keys, label }, place) => ({ keys, label, run: () => latest.current[place]?.run() }));
    shortcuts.set([...shortcuts.get(), ...added]);
    return () => shortcuts.set(shortcuts.get().filter((each) => !added.includes(each)));
  }, [names]);
}

/** What a press means: a shortcut, the first key of some, or nothing. */
export function pressed(known: readonly Shortcut[], before: string | null, key: string): Shortcut | "begun" | null {
  const sequence = before === null ? key : `${before} ${key}`;
  const own = known.findLast((each) => each.keys === sequence);
  if (own !== undefined) return own;
  if (known.some((each) => each.keys.startsWith(`${sequence} `))) return "begun";
  return before === null ? null : pressed(known, null, key);
}
