import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useSyncExternalStore } from "react";

import { refuse, session } from "../state/session";
import { makeStore, useStore } from "../state/store";
import { socketUrl } from "./base";
import { Live, type LiveState, type Socket, type Watcher } from "./live";

const state = makeStore<LiveState>({ kind: "idle" });

/** The page's only connection. */
export const live = new Live({
  // A browser cannot set headers of a socket: the key is offered as a subprotocol.
  open: (key) =>
    new WebSocket(socketUrl(), key === null ? ["tenuto"] : ["tenuto", `tenuto.bearer.${key}`]) as Socket,
  key: () => session.get().key,
  onRefused: refuse,
  onState: state.set,
  now: () => performance.now(),
  random: Math.random,
  after(ms, then) {
    const timer = setTimeout(then, ms);
    return () => clearTimeout(timer);
  },
});

export const useLiveState = (): LiveState => useStore(state);

const isTold = (): boolean => state.get().kind === "live";

/** Whether the socket tells what happens. Unlike the state it is the same with each heartbeat, so that nothing is drawn for one. */
export const useIsTold = (): boolean => useSyncExternalStore(state.subscribe, isTold, isTold);

/** Connect with this key while the frame is shown; try at once when the page is looked at again. */
export function useLiveConnection(isOn: boolean, key: string | null): void {
  useEffect(() => {
    if (!isOn) return;
    live.start();
    const wake = () => document.visibilityState === "visible" && live.retryNow();
    document.addEventListener("visibilitychange", wake);
    window.addEventListener("online", wake);
    return () => {
      document.removeEventListener("visibilitychange", wake);
      window.removeEventListener("online", wake);
      live.stop();
    };
    // A socket of an earlier key would end with that key.
  }, [isOn, key]);
}

/** Follow an instance from an entry on; null: nothing yet. The newest `watcher` is called. */
export function useWatch(instanceId: string, since: number | null, watcher: Omit<Watcher, "since">): void {
  const latest = useRef(watcher);
  latest.current = watcher;
  const isReady = since !== null;
  const first = useRef(since);
  first.current = since;
  useEffect(() => {
    if (!isReady) return;
    return live.watch(instanceId, {
      since: first.current ?? 0,
      onUpdate: (update) => latest.current.onUpdate(update),
      onResync: () => latest.current.onResync(),
      onRefused: (code, message) => latest.current.onRefused?.(code, message),
    });
  }, [instanceId, isReady]);
}

/** Call when events came in, or may have. The newest `onChange` is called. */
export function useInbox(onChange: () => void): void {
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => live.watchInbox(() => latest.current()), []);
}

/** How often at most the reads of a watched instance are repeated. */
const REFRESH_MS = 250;

/** Read everything that names this instance again whenever something happens to it. */
export function useFreshInstance(instanceId: string, since: number | null): void {
  const queries = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const refresh = () => {
    timer.current ??= setTimeout(() => {
      timer.current = null;
      void queries.invalidateQueries({ predicate: ({ queryKey }) => names(queryKey[1], instanceId) });
    }, REFRESH_MS);
  };
  useWatch(instanceId, since, { onUpdate: refresh, onResync: refresh, onRefused: refresh });
  useEffect(() => {
    return () => {
      if (timer.current !== null) clearTimeout(timer.current);
      // Else every later one would take it for one that is still to come.
      timer.current = null;
    };
  }, []);
}

function names(params: unknown, id: string): boolean {
  return typeof params === "object" && params !== null && "path" in params && hasId(params.path, id);
}

const hasId = (path: unknown, id: string): boolean =>
  typeof path === "object" && path !== null && "id" in path && path.id === id;
