import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";

import type { ApiProblem } from "../../api/problem";
import { read } from "../../api/queries";
import { asObject, type Json } from "../../core/json";
import { Dialog } from "../../kit/Dialog";
import { Moment } from "../../kit/Moment";
import { EmptyState, ErrorState, Loading } from "../../kit/States";
import { StatusBadge } from "../../kit/StatusBadge";
import styles from "./start.module.css";

const MOST_LISTED = 50;

/** Choose an instance whose input is taken over. */
export function PastInputs({ workflow, onChoose, onClose }: { workflow: string; onChoose: (input: Json) => void; onClose: () => void }) {
  const queries = useQueryClient();
  const past = useQuery(read("/api/v1/instances", { query: { workflowId: workflow, limit: MOST_LISTED } }));
  const take = useMutation<unknown, ApiProblem, string>({
    mutationFn: (id) => queries.fetchQuery(read("/api/v1/instances/{id}", { path: { id } })),
    onSuccess: (instance) => onChoose(asObject(instance)["input"] ?? null),
  });
  return (
    <Dialog title="Take the input of a past instance" isOpen onClose={onClose} size="wide">
      {take.error !== null && <ErrorState isInline error={take.error} />}
      {past.isPending ? (
        <Loading label="Loading instances" />
      ) : past.data === undefined ? (
        <ErrorState isInline error={past.error} onRetry={() => void past.refetch()} />
      ) : past.data.items.length === 0 ? (
        <EmptyState title="It has not been started yet">There is no input to take over.</EmptyState>
      ) : (
        <ul className={styles["past"]}>
          {past.data.items.map(({ id, status, startedAt }) => (
            <li key={id}>
              <button type="button" aria-busy={take.isPending} onClick={() => take.mutate(id)}>
                <StatusBadge status={status} />
                <code>{id}</code>
                <Moment at={startedAt} />
              </button>
            </li>
          ))}
        </ul>
      )}
    </Dialog>
  );
}
