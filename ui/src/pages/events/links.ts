import { path } from "../../core/url";

export const eventHref = (id: string): string => path("events", id);
export const instanceHref = (id: string, step?: string): string => `${path("instances", id)}${step === undefined ? "" : `?${new URLSearchParams({ step }).toString()}`}`;
export const workflowHref = (id: string): string => path("workflows", id);

export function publishHref({ pattern, payload, correlationId }: { pattern: string; payload?: unknown; correlationId?: string | null }): string {
  const params = new URLSearchParams({ pattern });
  if (payload !== undefined) params.set("payload", JSON.stringify(payload));
  if (correlationId) params.set("correlationId", correlationId);
  return `/events/publish?${params.toString()}`;
}
