import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Square, X } from "lucide-react";
import { useEffect } from "react";
import { Link } from "wouter";

import { useMay } from "../../api/me";
import { read, send, useAct } from "../../api/queries";
import { count, counted } from "../../core/format";
import { path } from "../../core/url";
import { Button, IconButton } from "../../kit/Button";
import { ErrorState } from "../../kit/States";
import styles from "./styles.module.css";

const LOOK_MS = 500;

/** The progress of an operation on many letters, until it has ended. */
export function BulkProgress({ id, onDismiss }: { id: string; onDismiss: () => void }) {
  const bulk = useQuery({
    ...read("/api/v1/instances/bulk/{id}", { path: { id } }),
    refetchInterval: ({ state }) => (state.data === undefined || state.data.status === "running") && LOOK_MS,
  });
  const queries = useQueryClient();
  const status = bulk.data?.status;
  useEffect(() => {
    // What it has changed is seen at once.
    if (status === "done" || status === "cancelled") {
      void queries.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[0]).startsWith("/api/v1/dead-letters") });
    }
  }, [status, queries]);
  const stop = useAct(() => send("delete", "/api/v1/instances/bulk/{id}", { path: { id } }));
  const mayStop = useMay("instances:control");
  if (bulk.error !== null && bulk.data === undefined) return <ErrorState error={bulk.error} onRetry={() => void bulk.refetch()} />;
  if (bulk.data === undefined) return null;
  const { action, done, failed, matched, failures } = bulk.data;
  const verb = action === "discard" ? "discarded" : "retried";
  const words = [`${count(done)} of ${count(matched)} ${verb}`, ...(failed > 0 ? [`${count(failed)} refused`] : [])].join(", ");
  const isRunning = status === "running";
  return (
    <section className={styles["operation"]} aria-label="Operation">
      <div className={styles["operationHead"]}>
        <span role="status">{isRunning ? `${words}…` : status === "cancelled" ? `Stopped: ${words}` : `Done: ${words}`}</span>
        {isRunning && mayStop ? (
          <Button icon={<Square />} isPending={stop.isPending} onClick={() => stop.mutate(undefined)}>
            Stop
          </Button>
        ) : (
          <IconButton label="Dismiss" icon={<X />} onClick={onDismiss} />
        )}
      </div>
      <div className={styles["track"]} role="progressbar" aria-label="Progress" aria-valuemin={0} aria-valuemax={Math.max(matched, 1)} aria-valuenow={done + failed} aria-valuetext={words}>
        <div style={{ width: `${(100 * done) / Math.max(matched, 1)}%` }} />
        <div className={styles["refused"]} style={{ width: `${(100 * failed) / Math.max(matched, 1)}%` }} />
      </div>
      {stop.error !== null && <ErrorState isInline error={stop.error} />}
      {failures.length > 0 && (
        <details>
          <summary>{counted(failures.length, "refusal")}</summary>
          <ul className={styles["failures"]}>
            {failures.map((each) => (
              <li key={each.id}>
                <Link href={path("dead-letters", each.id)}>{each.id}</Link> <code>{each.code}</code> {each.message}
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}
