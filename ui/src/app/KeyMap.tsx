import { Dialog } from "../kit/Dialog";
import { shortcuts } from "../kit/keys";
import { prefer, usePreferences } from "../state/preferences";
import { useStore } from "../state/store";
import styles from "./Palette.module.css";

/** The keys that work on this page. */
export default function KeyMap({ onClose }: { onClose: () => void }) {
  const known = useStore(shortcuts);
  const { letterKeys } = usePreferences();
  return (
    <Dialog title="Keys" isOpen onClose={onClose}>
      <dl className={styles["keys"]}>
        {[{ keys: "Ctrl K", label: "Go to a page, or do something" }, ...known].map(({ keys, label }) => (
          <div key={`${keys} ${label}`}>
            <dt>{label}</dt>
            <dd>
              {keys.split(" ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      <label className={styles["option"]}>
        <input type="checkbox" checked={letterKeys} onChange={(event) => prefer({ letterKeys: event.target.checked })} />
        Single letters are shortcuts
      </label>
    </Dialog>
  );
}
