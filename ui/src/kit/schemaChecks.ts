import { createContext, useContext, type ReactNode } from "react";

import type { FormField, Path } from "../core/form";
import type { Json } from "../core/json";

interface Checks {
  /** What to say at a field, given the paths of its parts, which say theirs. */
  problemOf: (path: Path, value: Json | undefined, parts: readonly Path[]) => string | null;
  /** The field was left: from now on its problem is shown. */
  touch: (path: Path) => void;
}

/** How the fields of a form learn what is wrong with them. */
export const ChecksContext = createContext<Checks>({ problemOf: () => null, touch: () => undefined });
export const useChecks = (): Checks => useContext(ChecksContext);
export type { Checks };

export interface FieldProps<F extends FormField = FormField> {
  field: F;
  /** From the root of the form, also inside of lists and maps. */
  path: Path;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
  isRoot?: boolean;
  /** Beside the label, such as a button that removes it. */
  end?: ReactNode;
}
