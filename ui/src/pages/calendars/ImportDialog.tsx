import { useState } from "react";

import { sendText, useAct } from "../../api/queries";
import { counted } from "../../core/format";
import { asObject, asText } from "../../core/json";
import { Confirm } from "../../kit/Confirm";
import { Field } from "../../kit/Field";
import { visible } from "../../kit/JsonView";
import { Notice } from "../../kit/Notice";
import styles from "./styles.module.css";

const MOST_BYTES = 1_000_000;

/** Adds the whole days of an iCalendar file to a calendar, as days off. */
export function ImportDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const [file, setFile] = useState<File | null>(null);
  const bring = useAct(async () => sendText("/api/v1/calendars/{id}/import", { path: { id }, media: "text/calendar", text: (await file?.text()) ?? "" }));
  const done = bring.data;
  const isTooLarge = file !== null && file.size > MOST_BYTES;
  return (
    <Confirm
      title="Import days off"
      action={done === undefined ? "Import" : "Close"}
      isPending={bring.isPending}
      isReady={(file !== null && !isTooLarge) || done !== undefined}
      error={bring.error}
      onClose={onClose}
      onConfirm={() => (done === undefined ? bring.mutate(undefined) : onClose())}
    >
      {done === undefined ? (
        <>
          <p>Each whole day of an iCalendar file becomes a day off, with its name. Days that the calendar has already stay as they are in the file.</p>
          <Field label="File" help="As calendar programs export it: .ics" problem={isTooLarge ? "The file is larger than a megabyte." : null}>
            {(ids) => <input {...ids} type="file" accept=".ics,text/calendar" onChange={({ target }) => setFile(target.files?.[0] ?? null)} />}
          </Field>
        </>
      ) : (
        <>
          <Notice tone="green">{counted(done.imported.length, "day")} imported.</Notice>
          <ul className={styles["counted"]}>
            {done.imported.slice(0, 20).map((each) => {
              const given = asObject(each);
              return (
                <li key={asText(given["date"]) ?? ""}>
                  <code>{asText(given["date"])}</code> {visible(asText(given["name"]) ?? "")}
                </li>
              );
            })}
          </ul>
          {done.imported.length > 20 && <p className={styles["muted"]}>And {counted(done.imported.length - 20, "more day")}.</p>}
          {done.leftOut.length > 0 && (
            <>
              <Notice tone="amber">{counted(done.leftOut.length, "event")} of the file {done.leftOut.length === 1 ? "is" : "are"} no days off.</Notice>
              <ul className={styles["counted"]}>
                {done.leftOut.slice(0, 20).map((each, place) => (
                  <li key={place}>{visible(each)}</li>
                ))}
              </ul>
            </>
          )}
        </>
      )}
    </Confirm>
  );
}
