import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState, type ReactNode } from "react";

import { live, useLiveConnection, useLiveState } from "../api/liveHooks";
import { meQuery, type Me } from "../api/me";
import { Loading } from "../kit/States";
import { unreachableSince } from "../state/reachability";
import { session } from "../state/session";
import { useStore } from "../state/store";
import { Frame } from "./Frame";
import { SignIn } from "./SignIn";
import { Unreachable } from "./Unreachable";

/** While there is no socket, the service is asked this often whether it is there and still takes the key. */
const PROBE_MS = 3_000;
const CALM_MS = 60_000;

/** First the service and the principal, then the pages. A page that was shown stays while its viewer signs in again. */
export function Gate({ children, firstPage }: { children: ReactNode; firstPage: Promise<void> }) {
  const { key, needsSignIn } = useStore(session);
  const state = useLiveState();
  const isLive = state.kind === "live";
  const [isEntered, setIsEntered] = useState(false);
  const me = useQuery<Me>({ ...meQuery, refetchInterval: isEntered && !isLive ? PROBE_MS : CALM_MS });
  const principal = me.data?.principal;
  const isAsked = needsSignIn !== null || principal === null;
  const mayEnter = principal != null && needsSignIn === null;
  useEffect(() => {
    if (needsSignIn === "left") setIsEntered(false);
    if (!mayEnter) return;
    let isCurrent = true;
    void firstPage.then(() => isCurrent && setIsEntered(true));
    return () => void (isCurrent = false);
  }, [mayEnter, needsSignIn, firstPage]);
  useFresh(key, needsSignIn === "left", isLive, principal == null ? null : `${principal.tenant} ${principal.identity}`);
  useLiveConnection(isEntered && !isAsked, key);

  if (!isEntered) {
    if (isAsked) return <SignIn me={me.data} />;
    return me.failureCount > 0 ? <Unreachable error={me.failureReason} onRetry={() => void me.refetch()} /> : <Loading />;
  }
  return (
    <>
      <Frame>{children}</Frame>
      {isAsked && <SignIn me={me.data} isAgain />}
    </>
  );
}

/** Read anew what may be old: after a new key, after a break of the connection. Nothing of another principal stays. */
function useFresh(key: string | null, isLeft: boolean, isLive: boolean, identity: string | null): void {
  const queries = useQueryClient();
  const before = useRef<string | null>(null);
  const keyBefore = useRef(key);
  useEffect(() => {
    if (keyBefore.current === key) return;
    keyBefore.current = key;
    // Reads with the key before are of no use: they would be refused, or are of another principal.
    void queries.cancelQueries().then(() => queries.invalidateQueries());
  }, [queries, key]);
  useEffect(() => {
    if (isLeft) queries.clear();
  }, [queries, isLeft]);
  useEffect(() => {
    if (identity === null) return;
    const isOther = before.current !== null && before.current !== identity;
    before.current = identity;
    if (isOther) void queries.resetQueries({ predicate: ({ queryKey }) => queryKey[0] !== "me" });
  }, [queries, identity]);
  const hasBeenLive = useRef(false);
  useEffect(() => {
    if (!isLive) return;
    if (hasBeenLive.current) void queries.invalidateQueries();
    hasBeenLive.current = true;
  }, [queries, isLive]);
  // The service may be back long before the next attempt of the socket.
  const isDown = useStore(unreachableSince) !== null;
  useEffect(() => {
    if (!isDown) live.retryNow();
  }, [isDown]);
}
