import { useStore } from "../state/store";
import { shortcuts } from "./keys";
import styles from "./KeyList.module.css";

/** The keys that work now, and what they do. */
export function KeyList() {
  const known = useStore(shortcuts);
  return (
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
  );
}
