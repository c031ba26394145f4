/** Whether a task that waits would be taken, and by what. */

export interface Queue {
  taskId: string;
  waiting: number;
  workers: number;
  isRunHere: boolean;
  isPushed: boolean;
  breaker?: string;
}

/** Nothing takes what waits: no worker is connected, no process that answered runs it, and it is not pushed. */
export const isStranded = ({ waiting, workers, isRunHere, isPushed }: Queue): boolean => waiting > 0 && workers === 0 && !isRunHere && !isPushed;

/** What takes the attempts of a task, in words. */
export function takers({ workers, isRunHere, isPushed, breaker }: Queue): string {
  if (isPushed) return breaker === "open" ? "its address, which is not tried now" : "its address";
  const parts = [...(isRunHere ? ["this service"] : []), ...(workers > 0 ? [workers === 1 ? "1 worker" : `${workers} workers`] : [])];
  return parts.length === 0 ? "nothing" : parts.join(", ");
}

/** The command that starts a worker of a service. */
export const workerCommand = (service: string): string => `tenuto worker MODULE_OR_FILE --server ${service}`;
