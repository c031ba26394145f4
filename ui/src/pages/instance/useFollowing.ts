import { useState } from "react";

import { FINAL } from "../../core/state";
import { useKeys } from "../../kit/keys";
import type { Following } from "../../kit/VirtualList";
import { useShared } from "./context";

export interface Follow {
  /** Whether anything new can come. */
  isPossible: boolean;
  isOn: boolean;
  start: () => void;
  stop: () => void;
  /** For a list: the place of its newest row. */
  list: (place: number) => Following;
}

/** A live tail: the newest row stays in sight until the viewer scrolls away from it. */
export function useFollowing(): Follow {
  const { now, selection } = useShared();
  const [isLeft, setIsLeft] = useState(false);
  const isPossible = !FINAL.has(now.status) && selection.at === null;
  useKeys(isPossible ? [{ keys: "f", label: "Follow what happens", run: () => setIsLeft(!isLeft) }] : []);
  return {
    isPossible,
    isOn: isPossible && !isLeft,
    start: () => setIsLeft(false),
    stop: () => setIsLeft(true),
    list: (place) => ({ place, isOn: isPossible && !isLeft, onLeave: () => setIsLeft(true) }),
  };
}
