import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";

import { useIsTold, useWatch } from "../../api/liveHooks";
import type { ApiProblem } from "../../api/problem";
import { CHECK_MS, read, readAgainMs, TOLD_REFRESH_MS } from "../../api/queries";
import { explanationOf, type Explanation } from "../../core/explain";
import { FINAL, type InstanceState } from "../../core/state";
import { graphOf, type CompensationLink } from "../../core/graph";
import { planOf, type Plan } from "../../core/plan";
import { Replay } from "../../core/replay";
import { useStore } from "../../state/store";
import type { LogReader, ReadLog } from "./logReader";
import { snapshotOf } from "./model/snapshot";
import { isTestRun } from "./model/testRuns";
import { waitsOf, type OpenWait } from "./model/waits";
import { isWhole, lastOf } from "./model/window";
import { useLogReader, useLooks } from "./useLogReader";

/** How often at most an instance that moves is read again. */
const REFRESH_MS = 250;
const SNAPSHOT_MS = 1_000;
const NONE: CompensationLink[] = [];

export interface InstanceData {
  id: string;
  plan: Plan;
  /** As it is now. */
  now: InstanceState;
  /** As it is shown: now, or after the entry that the slider stands at. */
  shown: InstanceState;
  /** Whether both come from the whole log, with attempts, iterations and edges. */
  isFolded: boolean;
  explanation: Explanation | null;
  /** As the service shows it, for what the fold does not know. */
  view: { tenant: string } | undefined;
  waits: readonly OpenWait[];
  log: ReadLog;
  reader: LogReader;
  /** The drawing could not be read; what happened is shown all the same. */
  graphError: ApiProblem | null;
  refresh: () => void;
}

export type Loaded = { data: InstanceData; error: ApiProblem | null } | { data: null; error: ApiProblem | null };

/** Everything of one instance, kept up to date: reads at first, then what its log gains. */
export function useInstance(id: string, at: number | null): Loaded & { retry: () => void } {
  const queries = useQueryClient();
  const path = { path: { id } };
  const instance = useQuery({
    ...read("/api/v1/instances/{id}", path),
    // What a socket tells is a hint: the record is read now and then all the same.
    refetchInterval: ({ state }) => (state.status === "error" ? readAgainMs(state.error) : !FINAL.has(state.data?.status ?? "") && TOLD_REFRESH_MS),
  });
  // The structure does not change with the instance: it is read once.
  const graph = useQuery({ ...read("/api/v1/instances/{id}/graph", path), staleTime: Infinity });
  const version = instance.data?.definitionVersion;
  const workflow = instance.data?.workflowDefinitionId;
  const definition = useQuery({
    ...read("/api/v1/workflows/{id}", { path: { id: workflow ?? "" }, query: { version: version ?? null } }),
    // The definition of a test run is not saved.
    enabled: workflow !== undefined && !isTestRun(workflow),
    staleTime: Infinity,
    retry: false,
  });
  // They may have been read before the entry that the watch begins with, and change with more than the log. Where the socket
  // is live they are seldom read without a reason: what it does not tell, the next look at the log finds.
  const checkMs = useIsTold() ? TOLD_REFRESH_MS : CHECK_MS;
  const explain = useQuery({
    ...read("/api/v1/instances/{id}/explain", path),
    refetchInterval: ({ state }) => (state.status === "error" ? readAgainMs(state.error) : !FINAL.has(state.data?.status ?? "") && checkMs),
  });
  const isOver = FINAL.has(instance.data?.status ?? "");
  const waits = useQuery({
    ...read("/api/v1/instances/{id}/waits", path),
    refetchInterval: ({ state }) => (state.status === "error" ? readAgainMs(state.error) : !isOver && checkMs),
  });

  const reader = useLogReader(id);
  useLooks(reader, isOver);
  const log = useStore(reader.state);

  const timers = useRef<Partial<Record<"log" | "snapshot", ReturnType<typeof setTimeout>>>>({});
  const refreshReasons = () => {
    for (const each of ["/api/v1/instances/{id}/explain", "/api/v1/instances/{id}/waits"]) {
      void queries.invalidateQueries({ queryKey: [each, path] });
    }
  };
  // A snapshot has all outputs: it is read less often than the new entries.
  const refreshSnapshot = () => {
    timers.current.snapshot ??= setTimeout(() => {
      delete timers.current.snapshot;
      void queries.invalidateQueries({ queryKey: ["/api/v1/instances/{id}", path] });
    }, SNAPSHOT_MS);
  };
  const refresh = () => {
    timers.current.log ??= setTimeout(() => {
      delete timers.current.log;
      reader.newer();
      refreshReasons();
    }, REFRESH_MS);
    refreshSnapshot();
  };
  useEffect(() => {
    return () => {
      Object.values(timers.current).forEach(clearTimeout);
      // Else every later one would take them for some that are still to come.
      timers.current = {};
    };
  }, []);
  const last = lastOf(log.window);
  const known = instance.data?.version ?? null;
  useEffect(() => {
    // The watch begins after this entry: it tells nothing of those before it, read or not.
    if (known !== null && known > lastOf(reader.state.get().window)) reader.newer();
  }, [reader, known]);
  useEffect(() => {
    // What the log has gained may not have been told.
    if (known !== null && last > known) refreshSnapshot();
  }, [last, known]);
  const knownBefore = useRef(known);
  useEffect(() => {
    if (known !== null && knownBefore.current !== null && known !== knownBefore.current) refreshReasons();
    knownBefore.current = known;
  }, [known]);
  // One of them may not be there for a while: the other tells from where on.
  useWatch(id, known ?? (last === 0 ? null : last), { onUpdate: refresh, onResync: refresh, onRefused: refresh });

  const compensations = useMemo(() => {
    const found = graphOf(definition.data?.definition).compensations;
    // The same none: a large graph is not laid out again for it.
    return found.length === 0 ? NONE : found;
  }, [definition.data]);
  const plan = useMemo(() => planOf({ ...graphOf(graph.data ?? {}), compensations }), [graph.data, compensations]);
  const snapshot = useMemo(() => (instance.data === undefined ? null : snapshotOf(instance.data)), [instance.data]);
  const isPlanned = graph.data !== undefined;
  const whole = isWhole(log.window) && isPlanned;
  const { epoch } = log.window;
  const replay = useMemo(() => new Replay(plan, id), [plan, id, epoch]);
  const folded = useMemo(() => {
    if (whole) replay.append(log.window.entries);
    return whole ? replay.newest : null;
  }, [replay, whole, log.window.entries]);
  // The snapshot may be newer than the log that was read, or older.
  const now = folded !== null && folded.version >= (snapshot?.version ?? 0) ? folded : (snapshot ?? folded);
  const shown = useMemo(() => (folded === null || at === null || at >= folded.version ? now : replay.at(at)), [replay, folded, now, at]);

  // A definition of another version may need the compensations; nothing waits for them.
  const isReady = now !== null && shown !== null && !graph.isPending;
  const retry = () => {
    void instance.refetch();
    void graph.refetch();
    reader.newer();
  };
  if (!isReady) return { data: null, error: instance.error, retry };
  return {
    error: instance.error,
    retry,
    data: {
      id,
      plan,
      now,
      shown,
      isFolded: folded !== null,
      explanation: explain.data === undefined ? null : explanationOf(explain.data),
      view: instance.data,
      waits: FINAL.has(now.status) ? [] : waitsOf(waits.data),
      log,
      reader,
      graphError: graph.error,
      refresh,
    },
  };
}
