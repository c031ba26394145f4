import { useState } from "react";

import { send, useAct } from "../../api/queries";
import { counted } from "../../core/format";
import { Button } from "../../kit/Button";
import { Field, TextInput } from "../../kit/Field";
import { visible } from "../../kit/JsonView";
import { fromLocalInput, toLocalInput } from "../../kit/localMoments";
import { Moment } from "../../kit/Moment";
import { ErrorState } from "../../kit/States";
import { serviceNow } from "../../state/clock";
import styles from "./styles.module.css";

/** When a duration of working time is over, and how it was counted. */
export function Calculator({ id }: { id: string }) {
  const [from, setFrom] = useState(() => toLocalInput(serviceNow()));
  const [duration, setDuration] = useState("PT4H");
  const add = useAct(() => send("post", "/api/v1/calendars/{id}/add", { path: { id }, body: { from: fromLocalInput(from), duration: duration.trim() } }));
  const span = add.data;
  return (
    <>
      <form
        className={styles["calculator"]}
        onSubmit={(event) => {
          event.preventDefault();
          add.mutate(undefined);
        }}
      >
        <Field label="From" help="In your time zone.">
          {(ids) => <TextInput {...ids} type="datetime-local" value={from} onChange={({ target }) => setFrom(target.value)} />}
        </Field>
        <Field label="Working time" help="PT4H is four hours, P3D three working days.">
          {(ids) => <TextInput {...ids} value={duration} onChange={({ target }) => setDuration(target.value)} />}
        </Field>
        <Button type="submit" isPending={add.isPending}>
          Calculate
        </Button>
      </form>
      {add.error !== null && <ErrorState isInline error={add.error} />}
      {span !== undefined && (
        <div role="status" aria-label="Result">
          <p>
            It is over <b><Moment at={span.at} /></b>: {span.workingTime} of working time on {counted(span.workingDays, "day")}.
          </p>
          <details>
            <summary>Day by day</summary>
            <ul className={styles["counted"]}>
              {span.days.map((day) => (
                <li key={day.date}>
                  <code>{day.date}</code> {day.worked}
                  {day.reason != null && <span className={styles["muted"]}> {visible(day.reason)}</span>}
                </li>
              ))}
            </ul>
          </details>
        </div>
      )}
    </>
  );
}
