/** Test runs have definitions that were never saved, under ids that no saved one can have. */
export const isTestRun = (definitionId: string): boolean => definitionId.startsWith("~test:");
