import { useQuery } from "@tanstack/react-query";

import { noteReached } from "../state/reachability";
import { refuse, session } from "../state/session";
import { basePath } from "./base";
import { ApiProblem, problemOf, unreachable } from "./problem";
import type { Shape } from "./types";

/** The session as the service sees it: the pages show what its principal may do, and nothing else. */
export type Me = Shape<"MeView">;
export type Principal = Shape<"PrincipalView">;
export type Oidc = Shape<"OidcView">;

/** The service is asked again where it has not answered by then. */
const ANSWER_MS = 30_000;

/** What the service says of a key; null: of a client without one. */
export async function readMe(key: string | null): Promise<Me> {
  let response: Response;
  try {
    const headers: HeadersInit = key === null ? {} : { authorization: `Bearer ${key}` };
    response = await fetch(`${basePath}/api/v1/me`, { headers, signal: AbortSignal.timeout(ANSWER_MS) });
  } catch {
    noteReached(false);
    throw unreachable();
  }
  noteReached(true);
  if (!response.ok) throw await problemOf(response);
  return (await response.json()) as Me;
}

export const meQuery = {
  queryKey: ["me"],
  queryFn: async () => {
    const { key } = session.get();
    try {
      return await readMe(key);
    } catch (error) {
      if (error instanceof ApiProblem && error.status === 401) refuse(key);
      throw error;
    }
  },
  staleTime: 60_000,
  retry: (_: number, error: ApiProblem) => error.isTransient,
  retryDelay: (count: number) => Math.min(500 * 2 ** count, 2_000),
} as const;

export const useMe = (): Me | undefined => useQuery<Me>(meQuery).data;

/** Whether a control that needs this permission is shown. */
export function useMay(permission: string | undefined): boolean {
  const me = useMe();
  return permission === undefined || (me?.principal?.permissions.includes(permission) ?? false);
}

/** Whether the service has a part, such as "schedules". */
export function useHas(capability: string | undefined): boolean {
  const me = useMe();
  return capability === undefined || (me?.capabilities[capability] ?? false);
}
