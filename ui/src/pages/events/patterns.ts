import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { useMay } from "../../api/me";
import { read } from "../../api/queries";
import { factsOf } from "../../core/definition";

/** Names of events that definitions name, and that have come lately: what a pattern may be completed to. */
export function useKnownPatterns(): readonly string[] {
  const mayReadWorkflows = useMay("workflows:read");
  const mayReadEvents = useMay("events:read");
  const workflows = useQuery({ ...read("/api/v1/workflows", { query: { include: "definition" } }), enabled: mayReadWorkflows, staleTime: 30_000 });
  const events = useQuery({ ...read("/api/v1/events", { query: { order: "desc", limit: 100 } }), enabled: mayReadEvents, staleTime: 30_000 });
  return useMemo(() => {
    const named = (workflows.data?.items ?? []).flatMap((item) => factsOf(item.definition).events.map(({ pattern }) => pattern));
    const seen = (events.data?.items ?? []).map(({ pattern }) => pattern);
    return [...new Set([...named, ...seen])].sort();
  }, [workflows.data, events.data]);
}
