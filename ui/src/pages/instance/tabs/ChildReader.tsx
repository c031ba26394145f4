import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";

import { useWatch } from "../../../api/liveHooks";
import { read } from "../../../api/queries";
import { graphOf } from "../../../core/graph";
import { planOf } from "../../../core/plan";
import { Replay } from "../../../core/replay";
import type { ChildTimeline } from "../../../core/timeline";
import { useStore } from "../../../state/store";
import { LogReader, READ_BY_ITSELF } from "../logReader";
import { isWhole, lastOf } from "../model/window";

/** How often at most an instance that moves is read again. */
const REFRESH_MS = 500;

/** Reads an instance that a step started, and what happens to it, while its rows are open. It draws nothing. */
export function ChildReader({ id, onChange }: { id: string; onChange: (id: string, child: ChildTimeline | null) => void }) {
  const graph = useQuery({ ...read("/api/v1/instances/{id}/graph", { path: { id } }), staleTime: Infinity });
  const reader = useMemo(() => new LogReader(id), [id]);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  useEffect(() => {
    reader.newer();
    return () => {
      reader.close();
      if (timer.current !== null) clearTimeout(timer.current);
    };
  }, [reader]);
  const log = useStore(reader.state);
  const refresh = () => {
    timer.current ??= setTimeout(() => {
      timer.current = null;
      reader.newer();
    }, REFRESH_MS);
  };
  const last = lastOf(log.window);
  useWatch(id, last === 0 ? null : last, { onUpdate: refresh, onResync: refresh, onRefused: refresh });

  const plan = useMemo(() => (graph.data === undefined ? null : planOf(graphOf(graph.data))), [graph.data]);
  const { epoch, entries } = log.window;
  const replay = useMemo(() => (plan === null ? null : new Replay(plan, id)), [plan, id, epoch]);
  const whole = isWhole(log.window);
  const child = useMemo<ChildTimeline>(() => {
    const error = graph.error ?? log.error;
    if (error !== null) return { problem: error instanceof Error ? error.message : "it cannot be read" };
    if (log.length > READ_BY_ITSELF) return { problem: "its log is long, open it to see its timeline" };
    if (!whole || plan === null || replay === null) return "reading";
    replay.append(entries);
    return { plan, state: replay.newest };
  }, [graph.error, log.error, log.length, whole, plan, replay, entries]);
  useEffect(() => onChange(id, child), [id, child, onChange]);
  useEffect(() => () => onChange(id, null), [id, onChange]);
  return null;
}
