import { useCallback, useEffect, useRef, useState } from "react";

import { send } from "../../api/queries";
import type { InstanceParams } from "../../core/search";
import type { Instance } from "./exporting";

const FIRST_PAGE = 100;
/** Who scrolls on wants many. */
const NEXT_PAGE = 500;

interface Pages {
  items: readonly Instance[];
  cursor: string | null;
  isWhole: boolean;
  error: Error | null;
}

const NONE: Pages = { items: [], cursor: null, isWhole: false, error: null };

/** The list that was left last, so that coming back shows the same rows at the same place. */
let kept: { key: string; pages: Pages; scrollTop: number } | null = null;

/** Pages of a list that are read once, in order: a query that is refreshed would read them all again, and move them. */
export function usePages(params: InstanceParams, isReady: boolean) {
  const key = JSON.stringify(params);
  const returned = useRef(kept?.key === key && kept.scrollTop > 0 ? kept : null);
  const [pages, setPages] = useState<Pages>(returned.current?.pages ?? NONE);
  const [turn, setTurn] = useState(0);
  const isReading = useRef(false);
  const latest = useRef(pages);
  latest.current = pages;
  const scroll = useRef(returned.current?.scrollTop ?? 0);

  const readOn = useCallback(
    async (from: Pages, isCurrent: () => boolean) => {
      isReading.current = true;
      try {
        const isFirst = from.cursor === null;
        const query = { ...params, limit: isFirst ? FIRST_PAGE : NEXT_PAGE, ...(isFirst ? {} : { cursor: from.cursor }) };
        const page = await send("get", "/api/v1/instances", { query });
        if (!isCurrent()) return;
        setPages({ items: [...from.items, ...page.items], cursor: page.nextCursor, isWhole: page.nextCursor === null, error: null });
      } catch (error) {
        if (isCurrent()) setPages({ ...from, error: error as Error });
      } finally {
        if (isCurrent()) isReading.current = false;
      }
    },
    // The parameters are equal where their text is.
    // eslint-disable-next-line
    [key],
  );

  const generation = useRef(0);
  useEffect(() => {
    const own = ++generation.current;
    isReading.current = false;
    if (returned.current !== null) {
      returned.current = null;
      return;
    }
    if (isReady) void readOn(NONE, () => generation.current === own);
  }, [readOn, isReady, turn]);
  // What was read for another filter is not shown for this one.
  const shownFor = useRef(key);
  const isOther = shownFor.current !== key;
  useEffect(() => {
    if (shownFor.current === key) return;
    shownFor.current = key;
    setPages(NONE);
    scroll.current = 0;
  }, [key]);

  useEffect(
    () => () => {
      kept = { key, pages: latest.current, scrollTop: scroll.current };
    },
    [key],
  );

  const shown = isOther ? NONE : pages;
  return {
    ...shown,
    isPending: isReady && shown.items.length === 0 && !shown.isWhole && shown.error === null,
    scroll,
    readMore: useCallback(() => {
      const { current } = latest;
      const own = generation.current;
      if (!isReading.current && !current.isWhole && current.cursor !== null) void readOn(current, () => generation.current === own);
    }, [readOn]),
    /** Read it again from the beginning; what is shown stays until the answer is there. */
    readAgain: useCallback(() => setTurn((before) => before + 1), []),
  };
}
