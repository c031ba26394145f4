import { useQuery } from "@tanstack/react-query";

import { read } from "../../api/queries";
import { Dialog } from "../../kit/Dialog";
import { Moment } from "../../kit/Moment";
import { EmptyState, ErrorState, Loading } from "../../kit/States";
import { StatusBadge } from "../../kit/StatusBadge";
import styles from "./start.module.css";

const MOST_LISTED = 50;

/** Choose an instance whose input is taken over. */
export function PastInputs({ workflow, onChoose, onClose }: { workflow: string; onChoose: (instance: string) => void; onClose: () => void }) {
  const past = useQuery(read("/api/v1/instances", { query: { workflowId: workflow, limit: MOST_LISTED } }));
  return (
    <Dialog title="Take the input of a past instance" isOpen onClose={onClose} size="wide">
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
              <button type="button" onClick={() => onChoose(id)}>
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
