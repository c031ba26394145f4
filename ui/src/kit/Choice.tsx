import styles from "./Choice.module.css";

/** One of a few, all in sight: a range, a view. */
export function Choice({ label, chosen, options, onChoose }: { label: string; chosen: string; options: readonly (readonly [value: string, name: string])[]; onChoose: (value: string) => void }) {
  return (
    <div className={styles["choice"]} role="group" aria-label={label}>
      {options.map(([value, name]) => (
        <button key={value} type="button" aria-pressed={value === chosen} onClick={() => onChoose(value)}>
          {name}
        </button>
      ))}
    </div>
  );
}
