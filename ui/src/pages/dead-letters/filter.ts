/** Which dead letters are meant: what the address says, what the list is asked for, and how it is said. */

import { optional, type Codec } from "../../core/url";

export interface LetterFilter {
  kind: string | null;
  code: string | null;
  workflowId: string | null;
  stepId: string | null;
  taskId: string | null;
}

export const FILTER: Codec<LetterFilter> = {
  kind: optional(),
  code: optional(),
  workflowId: optional(),
  stepId: optional(),
  taskId: optional(),
};

const NAMES: readonly (readonly [keyof LetterFilter, string])[] = [
  ["workflowId", "workflow"],
  ["stepId", "step"],
  ["code", "code"],
  ["taskId", "task"],
  ["kind", "kind"],
];

/** What the filter says; nothing: it finds all. */
export const said = (filter: LetterFilter): (readonly [keyof LetterFilter, string, string])[] =>
  NAMES.flatMap(([field, name]) => {
    const value = filter[field];
    return value === null ? [] : [[field, name, value] as const];
  });

/** The fields that the service is asked for: those that say something. */
export const asked = (filter: LetterFilter): Partial<Record<keyof LetterFilter, string>> => Object.fromEntries(said(filter).map(([field, , value]) => [field, value]));

interface Cause {
  kind: string;
  code: string | null;
  workflowId: string | null;
  stepId: string;
}

/** The filter of one cause. Letters whose instances were erased have no workflow that could be named. */
export const causeOf = ({ kind, code, workflowId, stepId }: Cause): LetterFilter => ({ kind, code: code ?? "", workflowId, stepId, taskId: null });

const KINDS: Readonly<Record<string, string>> = {
  "task-failed": "Task failed",
  "compensation-failed": "Compensation failed",
  "late-result": "Result came too late",
  poison: "Ended its process",
};
/** A kind as people read it; one that this version does not know is shown as it is. */
export const kindWords = (kind: string): string => (Object.hasOwn(KINDS, kind) ? (KINDS[kind] ?? kind) : kind);

/** The code and message of an error of any shape. */
export function errorOf(error: unknown): { code: string | null; message: string | null } {
  if (typeof error !== "object" || error === null) return { code: null, message: typeof error === "string" ? error : null };
  const text = (name: string): string | null => {
    const value: unknown = (error as Record<string, unknown>)[name];
    return typeof value === "string" ? value : null;
  };
  return { code: text("code"), message: text("message") };
}
