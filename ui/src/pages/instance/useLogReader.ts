import { useEffect, useMemo } from "react";

import { CHECK_MS } from "../../api/queries";
import { session } from "../../state/session";
import { useStore } from "../../state/store";
import { LogReader } from "./logReader";

/** How often a log is looked at without a reason: the word that it has grown may be lost. Usually there is nothing to send. */
const LOOK_MS = 5_000;

/** The reader of a log: what could not be read with the key before is read with a new one. */
export function useLogReader(id: string): LogReader {
  const { key } = useStore(session);
  const reader = useMemo(() => new LogReader(id), [id]);
  useEffect(() => {
    reader.open();
    return () => reader.close();
  }, [reader, key]);
  return reader;
}

/** Look now and then whether a log has grown, while the page is visible. `isOver`: it hardly grows any more. */
export function useLooks(reader: LogReader, isOver: boolean): void {
  const isSignedIn = useStore(session).needsSignIn === null;
  useEffect(() => {
    if (!isSignedIn) return;
    const look = () => document.visibilityState === "visible" && reader.look();
    const timer = setInterval(look, isOver ? CHECK_MS : LOOK_MS);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [reader, isOver, isSignedIn]);
}
