import { exactUtc, moment } from "../core/format";
import type { LiveState } from "../api/live";
import { live, useLiveState } from "../api/liveHooks";
import { classes } from "../kit/classes";
import { unreachableSince } from "../state/reachability";
import { useStore } from "../state/store";
import styles from "./Frame.module.css";

interface Said {
  word: string;
  tone: "green" | "amber" | "red" | "neutral";
  why: string;
}

/** What the connection is, in words that hide nothing. */
export function said(state: LiveState, downSince: number | null, now: number): Said {
  if (downSince !== null) {
    return { word: `Offline since ${moment(downSince, "local", now)}`, tone: "red", why: `The service has not answered since ${exactUtc(downSince)}. What is shown may be old. It is tried again all the time.` };
  }
  switch (state.kind) {
    case "live":
      return { word: "Live", tone: "green", why: `Changes are shown as they happen${state.roundTripMs === null ? "" : `; the socket answers in ${Math.round(state.roundTripMs)} ms`}.` };
    case "connecting":
      return { word: "Connecting", tone: "amber", why: "The live socket is being opened." };
    case "polling":
      return { word: `Polling every ${state.everyMs / 1_000} s`, tone: "amber", why: `${state.why} The pages are read again instead. Press to try the socket now.` };
    case "refused":
      return { word: "Signed out", tone: "red", why: state.why };
    case "idle":
      return { word: "Not connected", tone: "neutral", why: "The live socket is closed." };
  }
}

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
