import { live, useLiveState } from "../api/liveHooks";
import { classes } from "../kit/classes";
import { unreachableSince } from "../state/reachability";
import { useStore } from "../state/store";
import { said } from "./connection";
import styles from "./Frame.module.css";

export function LivePill() {
  const state = useLiveState();
  const downSince = useStore(unreachableSince);
  const { word, tone, why } = said(state, downSince, Date.now());
  return (
    <button type="button" className={classes(styles["pill"], styles[tone])} title={why} aria-label={`Connection: ${word}. ${why}`} onClick={() => live.retryNow()}>
      <i aria-hidden />
      <span aria-live="polite">{word}</span>
    </button>
  );
}
