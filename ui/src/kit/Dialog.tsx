import { X } from "lucide-react";
import { useEffect, useId, useRef, type ReactNode } from "react";

import { IconButton } from "./Button";
import { classes } from "./classes";
import styles from "./Dialog.module.css";

/** A modal dialog: the browser's own, which keeps the focus inside and gives it back. */
export function Dialog({
  title,
  isOpen,
  onClose,
  children,
  actions,
  size = "normal",
  isPlain = false,
}: {
  title: string;
  isOpen: boolean;
  /** Without it the dialog stays until what it asks for is given. */
  onClose?: () => void;
  children: ReactNode;
  /** Buttons at the bottom, the main one last. */
  actions?: ReactNode;
  size?: "normal" | "wide";
  /** Without a visible heading, such as the palette. */
  isPlain?: boolean;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const dialog = ref.current;
    if (isOpen && dialog?.open === false) dialog.showModal();
    if (!isOpen && dialog?.open === true) dialog.close();
  }, [isOpen]);
  if (!isOpen) return null;
  return (
    <dialog
      ref={ref}
      className={classes(styles["dialog"], styles[size], isPlain && styles["bare"])}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
      onClick={(event) => event.target === ref.current && onClose?.()}
    >
      <div className={styles["frame"]}>
        <header className={isPlain ? "hidden-text" : styles["head"]}>
          <h2 id={heading}>{title}</h2>
          {!isPlain && onClose !== undefined && <IconButton label="Close" icon={<X />} onClick={onClose} />}
        </header>
        <div className={isPlain ? undefined : styles["body"]}>{children}</div>
        {actions !== undefined && <footer className={styles["foot"]}>{actions}</footer>}
      </div>
    </dialog>
  );
}
