import type { Activation } from "../../../core/fold";

/** Test runs have definitions that were never saved, under ids that no saved one can have. */
export const isTestRun = (definitionId: string): boolean => definitionId.startsWith("~test:");

/** Whether a step sleeps, or its task asked that what follows comes later. */
export const isInDelay = ({ spans }: Activation): boolean => spans.some(({ kind, to }) => (kind === "delay" || kind === "held") && to === null);
