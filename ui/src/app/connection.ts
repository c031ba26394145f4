import type { LiveState } from "../api/live";
import { exactUtc, moment } from "../core/format";

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
      return { word: "Live", tone: "green", why: `Changes of instances are shown as they happen, lists are read again every few seconds${state.roundTripMs === null ? "" : `; the socket answers in ${Math.round(state.roundTripMs)} ms`}.` };
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
