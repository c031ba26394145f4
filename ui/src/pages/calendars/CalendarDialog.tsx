import { useState, type ReactNode } from "react";
import { useLocation } from "wouter";

import { send, useAct } from "../../api/queries";
import type { Shape } from "../../api/types";
import { calendarDraftOf, calendarOf, newCalendar, WEEKDAYS, type CalendarDraft } from "../../core/calendar";
import { isUnder } from "../../core/formValues";
import { problemText, type PlacedProblem } from "../../core/schedule";
import { path } from "../../core/url";
import { Confirm } from "../../kit/Confirm";
import { Field, TextInput } from "../../kit/Field";
import { ownZone } from "../../kit/localMoments";
import { toast } from "../../kit/toast";
import styles from "./styles.module.css";

const DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"] as const;

/** Creates a calendar, or a version of one. */
export function CalendarDialog({ calendar, onClose }: { calendar?: Shape<"SavedCalendar">; onClose: () => void }) {
  const [draft, setDraft] = useState<CalendarDraft>(() => (calendar === undefined ? newCalendar(ownZone()) : calendarDraftOf(calendar)));
  const [, navigate] = useLocation();
  const save = useAct(
    () => {
      const body = calendarOf(draft);
      return calendar === undefined
        ? send("post", "/api/v1/calendars", { body })
        : send("put", "/api/v1/calendars/{id}", { path: { id: calendar.id }, body, headers: { "if-match": `"${calendar.version}"` } });
    },
    (saved) => {
      toast({ text: calendar === undefined ? "The calendar is saved" : `Version ${saved.version} is saved` });
      onClose();
      if (calendar === undefined) navigate(path("calendars", saved.id));
    },
  );
  const problems = (save.error?.problems ?? []) as readonly PlacedProblem[];
  const at = (place: string): string => problems.filter((each) => isUnder(each.path, place)).map(problemText).join(" ");
  const change = (next: Partial<CalendarDraft>) => setDraft({ ...draft, ...next });
  const text = (name: "id" | "name" | "timezone" | "extends" | "holidays" | "description", label: string, more: { help?: ReactNode; placeholder?: string; autoFocus?: boolean; disabled?: boolean } = {}) => {
    const { help, ...rest } = more;
    return (
      <Field label={label} help={help} problem={at(`$.${name}`)}>
        {(ids) => <TextInput {...ids} {...rest} value={draft[name]} onChange={({ target }) => change({ [name]: target.value })} />}
      </Field>
    );
  };
  const isNew = calendar === undefined;
  return (
    <Confirm title={isNew ? "Create a calendar" : `Edit ${calendar.name || calendar.id}`} action={isNew ? "Create" : "Save"} size="wide" isPending={save.isPending} error={save.error} onConfirm={() => save.mutate(undefined)} onClose={onClose}>
      <div className={styles["pair"]}>
        {text("name", "Name", { autoFocus: true, placeholder: "Berlin office" })}
        {text("id", "Id", { disabled: !isNew, help: isNew ? "Empty: made of the name." : "It stays." })}
        {text("timezone", "Time zone")}
        {text("extends", "Extends", { help: "Another calendar, whose days it inherits." })}
      </div>
      <fieldset className={styles["week"]}>
        <legend>Working hours, or closed</legend>
        {WEEKDAYS.map((day, place) => (
          <Field key={day} label={DAYS[place] ?? day} problem={at(`$.week.${day}`)}>
            {(ids) => <TextInput {...ids} placeholder={draft.extends.trim() === "" ? "closed" : "inherited"} value={draft.week[day]} onChange={({ target }) => change({ week: { ...draft.week, [day]: target.value } })} />}
          </Field>
        ))}
      </fieldset>
      {text("holidays", "Holidays of", { placeholder: "DE-BE, US", help: "Countries or their regions, separated by commas." })}
      <Field label="Own dates" help="A line each: the date, its hours, its name. Without hours it is a day off: 2026-12-24 09:00-12:00 Christmas Eve" problem={at("$.dates")}>
        {(ids) => <textarea {...ids} className={styles["dates"]} rows={4} spellCheck={false} value={draft.dates} onChange={({ target }) => change({ dates: target.value })} />}
      </Field>
      {text("description", "Description")}
    </Confirm>
  );
}
