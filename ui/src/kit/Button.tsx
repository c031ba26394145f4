import type { ButtonHTMLAttributes, ReactNode } from "react";

import styles from "./Button.module.css";
import { classes } from "./classes";

interface Common extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "children"> {
  look?: "plain" | "primary" | "danger" | "quiet";
  /** The request is under way: the button says so and takes no second press. */
  isPending?: boolean;
}

export function Button({ look = "plain", isPending = false, icon, children, className, disabled, ...rest }: Common & { icon?: ReactNode; children: ReactNode }) {
  return (
    <button
      type="button"
      {...rest}
      className={classes(styles["button"], styles[look], className)}
      disabled={disabled}
      aria-disabled={isPending || undefined}
      aria-busy={isPending || undefined}
      onClick={isPending ? undefined : rest.onClick}
    >
      {isPending ? <span className={styles["spinner"]} aria-hidden /> : icon}
      <span>{children}</span>
    </button>
  );
}

/** A button that shows an icon alone: its label is read out and shown on hover. */
export function IconButton({ label, icon, look = "quiet", isPending = false, className, ...rest }: Common & { label: string; icon: ReactNode }) {
  return (
    <button
      type="button"
      {...rest}
      className={classes(styles["button"], styles["icon"], styles[look], className)}
      aria-label={label}
      title={label}
      aria-busy={isPending || undefined}
      onClick={isPending ? undefined : rest.onClick}
    >
      {isPending ? <span className={styles["spinner"]} aria-hidden /> : icon}
    </button>
  );
}
