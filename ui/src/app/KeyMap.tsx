import { Dialog } from "../kit/Dialog";
import { KeyList } from "../kit/KeyList";
import { prefer, usePreferences } from "../state/preferences";
import styles from "./Palette.module.css";

/** The keys that work on this page. */
export default function KeyMap({ onClose }: { onClose: () => void }) {
  const { letterKeys } = usePreferences();
  return (
    <Dialog title="Keys" isOpen onClose={onClose}>
      <KeyList />
      <label className={styles["option"]}>
        <input type="checkbox" checked={letterKeys} onChange={(event) => prefer({ letterKeys: event.target.checked })} />
        Single letters are shortcuts
      </label>
    </Dialog>
  );
}
