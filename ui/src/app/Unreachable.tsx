import { ErrorState } from "../kit/States";
import styles from "./SignIn.module.css";

/** The service did not answer when the page was loaded. It is tried again all the time. */
export function Unreachable({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  return (
    <main className={styles["alone"]}>
      <div className={styles["card"]}>
        <h1>Tenuto</h1>
        <ErrorState isInline error={error} onRetry={onRetry} />
      </div>
    </main>
  );
}
