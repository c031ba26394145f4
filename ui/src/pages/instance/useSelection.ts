import { useMemo } from "react";
import { useSearchParams } from "wouter";

import { decode, encode, INSTANCE, type InstancePageState } from "../../core/url";

export type Selection = InstancePageState;

export interface Selecting {
  selection: Selection;
  /** Change some of it; Back returns to what was before, unless it is a movement such as a slider's. */
  select: (next: Partial<Selection>, how?: "push" | "replace") => void;
  /** The address of this page with another selection. */
  linkTo: (next: Partial<Selection>) => string;
}

/** What is looked at, which all tabs share. It lives in the URL. */
export function useSelection(): Selecting {
  const [params, setParams] = useSearchParams();
  const selection = useMemo(() => decode(INSTANCE, params), [params]);
  const encoded = (next: Partial<Selection>) => encode(INSTANCE, { ...selection, ...next }, params);
  return {
    selection,
    select: (next, how = "push") => setParams(encoded(next), { replace: how === "replace" }),
    linkTo: (next) => {
      const query = encoded(next).toString();
      return `${window.location.origin}${window.location.pathname}${query === "" ? "" : `?${query}`}`;
    },
  };
}

/** The selection without anything chosen; the tab stays. */
export const NOTHING: Partial<Selection> = { step: null, iteration: "", attempt: null, entry: null, part: "summary" };
