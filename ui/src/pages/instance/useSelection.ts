import { useMemo } from "react";
import { useLocation } from "wouter";

import { decode, encode, INSTANCE, type InstancePageState } from "../../core/url";
import { useParameters } from "../../kit/address";

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
  const search = useParameters().toString();
  const [, navigate] = useLocation();
  return useMemo(() => {
    const query = (next: Partial<Selection>): string => {
      // As it is now: a list may scroll and a row be opened before the page is drawn again.
      const params = new URLSearchParams(window.location.search);
      const text = encode(INSTANCE, { ...decode(INSTANCE, params), ...next }, params).toString();
      return text === "" ? "" : `?${text}`;
    };
    return {
      selection: decode(INSTANCE, new URLSearchParams(search)),
      select: (next, how = "push") => navigate(`~${window.location.pathname}${query(next)}`, { replace: how === "replace" }),
      linkTo: (next) => `${window.location.origin}${window.location.pathname}${query(next)}`,
    };
  }, [search, navigate]);
}

/** The selection without anything chosen; the tab stays. */
export const NOTHING: Partial<Selection> = { step: null, iteration: "", attempt: null, entry: null, part: "summary" };
