import { RotateCcw } from "lucide-react";

import { useMay } from "../../../api/me";
import { send, useAct } from "../../../api/queries";
import type { CompensationItem } from "../../../core/fold";
import { visible } from "../../../kit/JsonView";
import { Button } from "../../../kit/Button";
import { Duration, Moment } from "../../../kit/Moment";
import { EmptyState, ErrorState } from "../../../kit/States";
import { StatusBadge } from "../../../kit/StatusBadge";
import { toast } from "../../../kit/toast";
import { useShared } from "../context";
import styles from "../styles.module.css";

/** What is undone, in which order, and how it went. */
export default function CompensationTab() {
  const { id, shown, select, refresh } = useShared();
  const mayControl = useMay("instances:control");
  const undoing = shown.compensation;
  const retry = useAct(
    (item: CompensationItem) => send("post", "/api/v1/instances/{id}/retry", { path: { id }, body: { compensation: item.stepId, iteration: item.iteration } }),
    () => {
      toast({ text: "The compensation is tried again" });
      refresh();
    },
  );
  if (undoing === null) return <EmptyState title="Nothing is undone">Completed steps are undone when the instance is cancelled, or when it fails and its workflow says so.</EmptyState>;
  const done = undoing.items.filter((item) => item.status === "COMPLETED").length;
  return (
    <div className={styles["scrolled"]}>
      <p className={styles["lead"]}>
        {undoing.completedAt === null ? "Undoing: " : undoing.failed.size > 0 ? "Ended with errors: " : "Undone: "}
        <b>
          {done} of {undoing.items.length}
        </b>
        , begun <Moment at={undoing.startedAt} />
        {undoing.completedAt !== null && (
          <>
            , took <Duration from={undoing.startedAt} to={undoing.completedAt} />
          </>
        )}
      </p>
      {retry.error !== null && <ErrorState error={retry.error} />}
      <div className={styles["scrollX"]} tabIndex={0} role="group" aria-label="Compensations in order">
        <table className={styles["table"]}>
          <thead>
            <tr>
              <th scope="col">Order</th>
              <th scope="col">Compensation</th>
              <th scope="col">Undoes</th>
              <th scope="col">Result</th>
              <th scope="col">Attempts</th>
              <th scope="col">
                <span className="hidden-text">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {undoing.items.map((item, place) => (
              <tr key={item.key}>
                <td>{place + 1}</td>
                <td>
                  <button type="button" className={styles["stepLink"]} onClick={() => select({ step: item.stepId, iteration: item.iteration, attempt: null, entry: null })}>
                    {visible(item.key)}
                  </button>
                </td>
                <td>{visible(item.compensationFor)}</td>
                <td>
                  <StatusBadge status={item.status} look="plain" />
                  {item.error !== null && (
                    <div className={styles["message"]}>
                      <code>{visible(item.error.code)}</code> {visible(item.error.message)}
                    </div>
                  )}
                </td>
                <td>{item.attempts.length}</td>
                <td>
                  {item.status === "FAILED" && mayControl && (
                    <Button icon={<RotateCcw />} isPending={retry.isPending && retry.variables === item} onClick={() => retry.mutate(item)}>
                      Retry
                    </Button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {undoing.skipped.length > 0 && (
        <>
          <h3>Not undone</h3>
          <ul className={styles["plainList"]}>
            {undoing.skipped.map((each) => (
              <li key={`${each.stepId} ${each.iteration}`}>
                <code>{visible(each.stepId)}</code> {visible(each.reason)}
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}
