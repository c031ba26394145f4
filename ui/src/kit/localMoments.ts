/** Moments in the browser's own control, which has no zone: they are in the viewer's. */

/** `2026-11-17T09:00` of a moment, or with its seconds. */
export function toLocalInput(moment: string | number, to: "minutes" | "seconds" = "minutes"): string {
  const at = new Date(moment);
  if (Number.isNaN(at.getTime())) return "";
  const two = (value: number) => String(value).padStart(2, "0");
  const minutes = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`;
  return to === "minutes" ? minutes : `${minutes}:${two(at.getSeconds())}`;
}

/** The moment that was entered, in UTC; what is none is returned as it is, for the service to refuse. */
export function fromLocalInput(text: string): string {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? text : at.toISOString();
}

export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
