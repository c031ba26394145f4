import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { send, useAct } from "../../api/queries";
import { counted } from "../../core/format";
import { Confirm } from "../../kit/Confirm";
import { Stack } from "../../kit/Stack";
import { ErrorState, Loading } from "../../kit/States";
import { asked, said, type LetterFilter } from "./filter";

export interface BulkWish {
  action: "retry" | "discard";
  filter: LetterFilter;
}

/** Asks before an action over all that the filter finds, with their number. */
export function BulkDialog({ wish, onClose, onStarted }: { wish: BulkWish; onClose: () => void; onStarted: (id: string) => void }) {
  // The letters of this moment: those that come later were not meant.
  const [before] = useState(() => new Date().toISOString());
  const request = { action: wish.action, filter: { ...asked(wish.filter), createdBefore: before } };
  const found = useQuery({
    queryKey: ["bulk of dead letters", request],
    queryFn: () => send("post", "/api/v1/dead-letters/bulk", { body: { ...request, dryRun: true } }),
    staleTime: Infinity,
  });
  const start = useAct(
    () => send("post", "/api/v1/dead-letters/bulk", { body: request }),
    ({ id }) => id !== undefined && onStarted(id),
  );
  const letters = counted(found.data?.matched ?? 0, "dead letter");
  const verb = wish.action === "retry" ? "Retry" : "Discard";
  return (
    <Confirm
      title={`${verb} dead letters`}
      action={found.data === undefined ? verb : `${verb} ${letters}`}
      isDanger={wish.action === "discard"}
      isReady={(found.data?.matched ?? 0) > 0}
      isPending={start.isPending}
      error={start.error}
      onConfirm={() => start.mutate(undefined)}
      onClose={onClose}
    >
      {found.isPending ? (
        <Loading label="Counting dead letters" />
      ) : found.error !== null ? (
        <ErrorState isInline error={found.error} onRetry={() => void found.refetch()} />
      ) : (
        <Stack>
          <p>
            {found.data.matched === 0 ? "None is found." : `${letters} ${found.data.matched === 1 ? "is" : "are"} found`}
            {found.data.matched > 0 && (said(wish.filter).length === 0 ? ": all that there are." : ` by ${said(wish.filter).map(([, name, value]) => `${name} ${value === "" ? "none" : value}`).join(", ")}.`)}
          </p>
          <p>
            {wish.action === "retry"
              ? "Each instance goes on where it failed, with the same input. Letters go away as they are retried; what fails again comes back as a new one."
              : "The letters are deleted; their instances stay as they are. This cannot be taken back."}
          </p>
        </Stack>
      )}
    </Confirm>
  );
}
