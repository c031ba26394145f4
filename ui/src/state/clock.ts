/** The service's clock, as far as its answers tell it: what is shown as "3 m ago" must not depend on the viewer's own. */

/** Answers name whole seconds and are on their way for a while: a smaller difference is none. */
const TOLERANCE_MS = 3_000;

let offset = 0;

/** Compare with the time that an answer names. */
export function noteServiceTime(date: string | null, now: number = Date.now()): void {
  const said = date === null ? NaN : Date.parse(date);
  if (Number.isNaN(said)) return;
  const difference = said + 500 - now;
  offset = Math.abs(difference) <= TOLERANCE_MS ? 0 : difference;
}

/** Milliseconds since 1970, by the service's clock. */
export const serviceNow = (now: number = Date.now()): number => now + offset;
