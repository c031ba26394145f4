import type { SelectHTMLAttributes } from "react";

import styles from "./Field.module.css";

/** A choice among a few, by the browser's own control. */
export function Select({ options, ...rest }: SelectHTMLAttributes<HTMLSelectElement> & { options: readonly (readonly [value: string, label: string])[] }) {
  return (
    <select {...rest} className={styles["input"]}>
      {options.map(([value, label]) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  );
}
