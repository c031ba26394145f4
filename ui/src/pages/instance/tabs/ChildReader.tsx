import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";

import { useWatch } from "../../../api/liveHooks";
import { read } from "../../../api/queries";
import { count } from "../../../core/format";
import { graphOf } from "../../../core/graph";
import { planOf } from "../../../core/plan";
import { Replay } from "../../../core/replay";
import { FINAL } from "../../../core/state";
import type { ChildTimeline } from "../../../core/timeline";
import { useStore } from "../../../state/store";
import { MOST_HELD, READ_BY_ITSELF } from "../logReader";
import { snapshotOf } from "../model/snapshot";
import { isWhole, lastOf } from "../model/window";
import { useLogReader, useLooks } from "../useLogReader";

/** How often at most an instance that moves is read again. */
const REFRESH_MS = 500;

/** Reads an instance that a step started, and what happens to it, while its rows are open. It draws nothing.
 *
 * A long log is read in portions, newest first; until it is whole, and where it is too long to be held, the steps are as the service
 * tells them. */
export function ChildReader({ id, onChange }: { id: string; onChange: (id: string, child: ChildTimeline | null) => void }) {
  const graph = useQuery({ ...read("/api/v1/instances/{id}/graph", { path: { id } }), staleTime: Infinity });
  const queries = useQueryClient();
  const reader = useLogReader(id);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  useEffect(() => {
    return () => {
      if (timer.current !== null) clearTimeout(timer.current);
      timer.current = null;
    };
  }, []);
  const log = useStore(reader.state);
  const isLong = log.length > READ_BY_ITSELF;
  const canBeHeld = log.length <= MOST_HELD;
  useEffect(() => {
    if (isLong && canBeHeld) reader.all();
  }, [reader, isLong, canBeHeld]);
  const whole = isWhole(log.window);
  const told = useQuery({ ...read("/api/v1/instances/{id}", { path: { id } }), enabled: isLong && !whole });
  const refresh = () => {
    timer.current ??= setTimeout(() => {
      timer.current = null;
      reader.newer();
      if (isLong && !whole) void queries.invalidateQueries({ queryKey: ["/api/v1/instances/{id}", { path: { id } }] });
    }, REFRESH_MS);
  };
  const last = lastOf(log.window);
  useWatch(id, last === 0 ? null : last, { onUpdate: refresh, onResync: refresh, onRefused: refresh });

  const plan = useMemo(() => (graph.data === undefined ? null : planOf(graphOf(graph.data))), [graph.data]);
  const { epoch, entries } = log.window;
  const replay = useMemo(() => (plan === null ? null : new Replay(plan, id)), [plan, id, epoch]);
  const snapshot = useMemo(() => (told.data === undefined ? null : snapshotOf(told.data)), [told.data]);
  const far = isLong && !whole ? count(entries.length) : "";
  const child = useMemo<ChildTimeline>(() => {
    const error = graph.error ?? log.error;
    if (error !== null) return { problem: error instanceof Error ? error.message : "it cannot be read" };
    if (plan === null || replay === null || !(whole || snapshot !== null)) return "reading";
    if (!whole && snapshot !== null) {
      const length = count(log.length);
      return { plan, state: snapshot, note: canBeHeld ? `${far} of ${length} entries read` : `its steps alone: the log has ${length} entries` };
    }
    replay.append(entries);
    return { plan, state: replay.newest, note: null };
    // While the log is read, its entries make no other rows: only how many they are.
  }, [graph.error, log.error, log.length, whole, plan, replay, whole ? entries : far, snapshot, canBeHeld]);
  useLooks(reader, typeof child === "object" && "state" in child && FINAL.has(child.state.status));
  useEffect(() => onChange(id, child), [id, child, onChange]);
  useEffect(() => () => onChange(id, null), [id, onChange]);
  return null;
}
