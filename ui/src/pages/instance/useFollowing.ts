import { FINAL } from "../../core/state";
import { useKeys } from "../../kit/keys";
import type { Following } from "../../kit/VirtualList";
import { useShared } from "./context";

export interface Follow {
  /** Whether anything new can come. */
  isPossible: boolean;
  isOn: boolean;
  start: () => void;
  /** For a list: the place of its newest row. */
  list: (place: number) => Following;
}

/** A live tail: the newest row stays in sight until the viewer scrolls away from it. Whether it does is in the URL. */
export function useFollowing(): Follow {
  const { now, selection, select } = useShared();
  const isPossible = !FINAL.has(now.status) && selection.at === null;
  const isOn = isPossible && selection.follow;
  const follow = (next: boolean) => select({ follow: next }, "replace");
  useKeys(isPossible ? [{ keys: "f", label: "Follow what happens", run: () => follow(!selection.follow) }] : []);
  return { isPossible, isOn, start: () => follow(true), list: (place) => ({ place, isOn, onLeave: () => follow(false) }) };
}
