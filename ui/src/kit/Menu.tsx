import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";

import { classes } from "./classes";
import styles from "./Menu.module.css";

export interface MenuItem {
  label: string;
  icon?: ReactNode;
  /** What is pressed instead, or where it leads. */
  hint?: string;
  isDanger?: boolean;
  /** Of a choice: whether it is the present one. */
  isChosen?: boolean;
  isDisabled?: boolean;
  onSelect: () => void;
}

/** A button that opens a menu; null among the items draws a line. */
export function Menu({ trigger, label, items }: { trigger: ReactNode; label: string; items: readonly (MenuItem | null)[] }) {
  return (
    // Not modal: Radix would lock scrolling with an inline style sheet, which the content security policy forbids.
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className={styles["menu"]} align="end" sideOffset={4} collisionPadding={8} aria-label={label}>
          {items.map((item, place) =>
            item === null ? (
              <DropdownMenu.Separator key={`line-${place}`} className={styles["line"]} />
            ) : (
              <DropdownMenu.Item
                key={item.label}
                className={classes(styles["item"], item.isDanger === true && styles["danger"])}
                disabled={item.isDisabled ?? false}
                onSelect={item.onSelect}
                aria-current={item.isChosen}
              >
                <span className={styles["icon"]} aria-hidden>
                  {item.isChosen === true ? "✓" : item.icon}
                </span>
                <span className={styles["label"]}>{item.label}</span>
                {item.hint !== undefined && <kbd>{item.hint}</kbd>}
              </DropdownMenu.Item>
            ),
          )}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
