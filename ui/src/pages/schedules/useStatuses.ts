import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { useMay } from "../../api/me";
import { LIST_REFRESH_MS, read } from "../../api/queries";
import type { TickRecord } from "./links";

/** How the instances stand that ticks started, by their id. */
export function useStatuses(ticks: readonly TickRecord[]): ReadonlyMap<string, string> {
  const ids = ticks.flatMap(({ instanceId }) => (instanceId == null ? [] : [instanceId])).join(",");
  const mayRead = useMay("instances:read");
  const found = useQuery({ ...read("/api/v1/instances", { query: { ids, limit: 100 } }), enabled: mayRead && ids !== "", refetchInterval: LIST_REFRESH_MS });
  return useMemo(() => new Map(found.data?.items.map((each) => [each.id, each.status]) ?? []), [found.data]);
}
