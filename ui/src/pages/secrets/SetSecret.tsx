import { useState } from "react";

import { send, useAct } from "../../api/queries";
import type { Shape } from "../../api/types";
import { isUnder } from "../../core/formValues";
import { problemText, type PlacedProblem } from "../../core/schedule";
import { Confirm } from "../../kit/Confirm";
import { Field, TextInput } from "../../kit/Field";
import { Stack } from "../../kit/Stack";
import { toast } from "../../kit/toast";
import styles from "./styles.module.css";

/** Adds a secret, or replaces the value of one; the field is written and never read back. */
export function SetSecret({ secret, onClose }: { secret: Shape<"Secret"> | undefined; onClose: () => void }) {
  const [name, setName] = useState(secret?.name ?? "");
  const [value, setValue] = useState("");
  const [destinations, setDestinations] = useState((secret?.destinations ?? []).join(", "));
  const save = useAct(
    () => {
      const named = destinations.split(/[\s,]+/).filter((each) => each !== "");
      return send("put", "/api/v1/secrets/{name}", { path: { name: name.trim() }, body: { value, destinations: named.length === 0 ? null : named } });
    },
    (saved) => {
      toast({ text: `${saved.name} is stored` });
      onClose();
    },
  );
  const problems = (save.error?.problems ?? []) as readonly PlacedProblem[];
  const at = (place: string): string => problems.filter((each) => isUnder(each.path, place)).map(problemText).join(" ");
  const isNew = secret === undefined;
  return (
    <Confirm title={isNew ? "Add a secret" : `Replace ${secret.name}`} action={isNew ? "Add" : "Replace"} isPending={save.isPending} isReady={name.trim() !== "" && value !== ""} error={save.error} onConfirm={() => save.mutate(undefined)} onClose={onClose}>
      <Stack>
        <Field label="Name" help="Steps name it as {{secrets.NAME}}." problem={at("$.name")}>
          {(ids) => <TextInput {...ids} autoFocus={isNew} disabled={!isNew} value={name} onChange={({ target }) => setName(target.value)} />}
        </Field>
        <Field label="Value" help="At least four characters. It is encrypted, and nothing shows it again." problem={at("$.value")}>
          {(ids) => <textarea {...ids} className={styles["value"]} rows={3} autoComplete="off" spellCheck={false} autoFocus={!isNew} value={value} onChange={({ target }) => setValue(target.value)} />}
        </Field>
        <Field label="Sent only to" help="Hosts or data sources, separated by commas. Empty: every step may get it." problem={at("$.destinations")}>
          {(ids) => <TextInput {...ids} placeholder="api.example.com" value={destinations} onChange={({ target }) => setDestinations(target.value)} />}
        </Field>
      </Stack>
    </Confirm>
  );
}
