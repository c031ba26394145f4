import { useId, useMemo, useState, type KeyboardEvent } from "react";
import { useLocation } from "wouter";

import { classes } from "../kit/classes";
import { Dialog } from "../kit/Dialog";
import { shortcuts } from "../kit/keys";
import { prefer } from "../state/preferences";
import { useStore } from "../state/store";
import { choices, type Choice } from "./choices";
import { useNavPages } from "./Navigation";
import styles from "./Palette.module.css";

/** Go to a page, open an id, or do what a key would do here. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [place, setPlace] = useState(0);
  const [, navigate] = useLocation();
  const pages = useNavPages();
  const known = useStore(shortcuts);
  const list = useId();
  const all = useMemo<readonly Choice[]>(
    () => [
      ...pages.map(({ title, path, nav }) => ({ label: title, kind: "Page", ...(nav?.key === undefined ? {} : { keys: `g ${nav.key}` }), run: () => navigate(path) })),
      ...known.filter(({ keys }) => !keys.startsWith("g ")).map(({ keys, label, run }) => ({ label, kind: "Here", keys, run })),
      ...(["light", "dark", "system"] as const).map((theme) => ({ label: `Theme: ${theme}`, kind: "Look", run: () => prefer({ theme }) })),
    ],
    [pages, known, navigate],
  );
  const shown = choices(all, text, (id) => navigate(`/instances/${encodeURIComponent(id)}`));
  const chosen = Math.min(place, shown.length - 1);
  const take = (choice: Choice | undefined) => {
    if (choice === undefined) return;
    onClose();
    choice.run();
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setPlace((chosen + step + shown.length) % Math.max(shown.length, 1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      take(shown[chosen]);
    }
  };
  return (
    <Dialog title="Go to or do" isOpen isPlain onClose={onClose}>
      <input
        className={styles["input"]}
        role="combobox"
        aria-label="Go to or do"
        aria-expanded
        aria-controls={list}
        aria-activedescendant={chosen >= 0 ? `${list}-${chosen}` : undefined}
        placeholder="A page, an instance id, or what to do"
        autoFocus
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setPlace(0);
        }}
        onKeyDown={press}
      />
      <div id={list} role="listbox" aria-label="Choices" className={styles["list"]}>
        {shown.map((choice, index) => (
          <div
            key={`${choice.kind} ${choice.label}`}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === chosen}
            className={classes(styles["choice"], index === chosen && styles["chosen"])}
            onMouseMove={() => setPlace(index)}
            onClick={() => take(choice)}
          >
            <span className={styles["label"]}>{choice.label}</span>
            <span className={styles["kind"]}>{choice.kind}</span>
            {choice.keys !== undefined && choice.keys.split(" ").map((key) => <kbd key={key}>{key}</kbd>)}
          </div>
        ))}
        {shown.length === 0 && <p className={styles["none"]}>Nothing here is called so. Paste a whole instance id to open it.</p>}
      </div>
    </Dialog>
  );
}
