import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { send } from "../../api/queries";
import type { JsonObject } from "../../core/json";

/** A pause in typing after which the service is asked. */
const RESTED_MS = 250;
/** So many times are read, for the holidays among them; a few are listed. */
const READ = 100;

/** What the service says of a document as it is typed: when it fires, its next times, and all its problems. */
export function usePreview(document: JsonObject) {
  const text = JSON.stringify(document);
  const [asked, setAsked] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), RESTED_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const found = useQuery({
    queryKey: ["/api/v1/schedules/preview", asked],
    queryFn: () => send("post", "/api/v1/schedules/preview", { query: { count: READ }, body: JSON.parse(asked) as JsonObject }),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    gcTime: 60_000,
  });
  return { preview: found.data, error: found.error, isUpToDate: asked === text && !found.isFetching };
}
