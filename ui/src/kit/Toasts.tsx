import { X } from "lucide-react";

import { useStore } from "../state/store";
import { Button, IconButton } from "./Button";
import { classes } from "./classes";
import { dismiss, toasts } from "./toast";
import styles from "./Toasts.module.css";

/** The messages of `toast`, in a corner, read out politely. */
export function Toasts() {
  const shown = useStore(toasts);
  return (
    <div className={styles["corner"]} role="status" aria-live="polite">
      {shown.map(({ id, text, tone, action }) => (
        <div key={id} className={classes(styles["toast"], tone === "red" && styles["red"])}>
          <span className={styles["text"]}>{text}</span>
          {action !== undefined && (
            <Button look="quiet" onClick={action.run}>
              {action.label}
            </Button>
          )}
          <IconButton label="Dismiss" icon={<X />} onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  );
}
