import { useMemo, useRef, useState } from "react";

import { formOf, problemsOf, spelledPath, valueAt, type FormProblem, type Path } from "../core/form";
import { atTheirFields, problemsAt } from "../core/formValues";
import { sameJson, type Json } from "../core/json";
import { ChecksContext, type Checks } from "./schemaChecks";
import { SchemaField } from "./SchemaField";

/** A problem that the service found; its path begins at the form's root, `$`. */
export interface ServerProblem {
  path: string;
  message: string;
  advice?: string | null;
}

/**
 * A form of a JSON Schema. The value is always what the fields show, also where the schema does not allow it: the service
 * is the judge, and its problems stand at their fields until these are changed.
 */
export function SchemaForm({
  schema,
  value,
  onChange,
  problems = NONE,
  isChecked = false,
}: {
  schema: unknown;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
  problems?: readonly ServerProblem[];
  /** Whether problems are shown also where nothing was entered yet: after a first attempt to send. */
  isChecked?: boolean;
}) {
  const form = useMemo(() => formOf(schema as Json | undefined), [schema]);
  const own = useMemo(() => problemsOf(form, value), [form, value]);
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const sent = useRef<{ given: readonly ServerProblem[]; problems: readonly ServerProblem[]; value: Json | undefined }>({ given: NONE, problems: NONE, value });
  if (sent.current.given !== problems) sent.current = { given: problems, problems: atTheirFields(problems), value };
  const checks = useMemo<Checks>(
    () => ({
      touch: (path) => setTouched((before) => new Set([...before, spelledPath(path)])),
      problemOf: (path, now, parts) => {
        const isAsSent = sameJson(valueAt(sent.current.value, path), now);
        const found = isAsSent ? problemsAt(sent.current.problems, path, parts) : [];
        if (found.length > 0) return found.map(said).join(" ");
        if (!isChecked && !touched.has(spelledPath(path))) return null;
        return own.find((each) => isAt(each, path))?.message ?? null;
      },
    }),
    [own, touched, isChecked, problems],
  );
  return (
    <ChecksContext value={checks}>
      <SchemaField field={form} path={NO_PATH} value={value} onChange={onChange} isRoot />
    </ChecksContext>
  );
}

const NONE: readonly ServerProblem[] = [];
const NO_PATH: Path = [];

const said = ({ message, advice }: ServerProblem): string => [message, advice].filter(Boolean).join(". ").replaceAll("..", ".");
const isAt = (problem: FormProblem, path: Path): boolean => spelledPath(problem.path) === spelledPath(path);
