import { path } from "../../core/url";

export const workflowHref = (id: string): string => path("workflows", id);
export const startHref = (id: string): string => `${path("workflows", id)}/start`;
export const instanceHref = (id: string): string => path("instances", id);
/** The list of a workflow's instances; with a status only those of it. */
export const instancesHref = (workflow: string, status?: string): string =>
  `/instances?${new URLSearchParams({ q: [`workflow:${quoted(workflow)}`, ...(status === undefined ? [] : [`status:${status.toLowerCase()}`])].join(" ") }).toString()}`;
export const taskHref = (task: string): string => `/tasks?${new URLSearchParams({ task }).toString()}`;
export const eventsHref = (pattern: string): string => `/events?${new URLSearchParams({ pattern }).toString()}`;

const quoted = (word: string): string => (/^[\w.-]+$/.test(word) ? word : JSON.stringify(word));
export const scheduleHref = (id: string): string => path("schedules", id);
export const schedulesHref = (workflow: string): string => `/schedules?${new URLSearchParams({ workflow }).toString()}`;
