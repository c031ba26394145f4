import { useState } from "react";

import { useMe } from "../../api/me";
import { send, useAct } from "../../api/queries";
import type { Shape } from "../../api/types";
import { Button } from "../../kit/Button";
import { Confirm } from "../../kit/Confirm";
import { Dialog } from "../../kit/Dialog";
import { Field, TextInput } from "../../kit/Field";
import { Notice } from "../../kit/Notice";
import { Select } from "../../kit/Select";
import { Snippet } from "../../kit/Snippet";
import { Stack } from "../../kit/Stack";
import { signIn } from "../../state/session";
import { basePath } from "../../api/base";
import { serviceNow } from "../../state/clock";
import styles from "./styles.module.css";

const ROLES: readonly (readonly [Shape<"Role">, string])[] = [
  ["viewer", "viewer: reads"],
  ["operator", "operator: also starts, steers and decides"],
  ["editor", "editor: also changes definitions, tasks and webhooks"],
  ["admin", "admin: also manages keys and reads the audit log"],
];
const DAY_MS = 86_400_000;
const TERMS: readonly (readonly [string, string])[] = [
  ["", "never"],
  ["1", "in a day"],
  ["7", "in 7 days"],
  ["30", "in 30 days"],
  ["90", "in 90 days"],
  ["365", "in a year"],
];

/** Creates a key, and shows its secret this once. */
export function CreateKey({ onClose }: { onClose: () => void }) {
  const me = useMe();
  const [name, setName] = useState("");
  const [role, setRole] = useState<Shape<"Role">>("operator");
  const [days, setDays] = useState("90");
  const [scopes, setScopes] = useState<ReadonlySet<string>>(new Set());
  const [key, setKey] = useState<string | null>(null);
  const [wasOpen, setWasOpen] = useState(false);
  const create = useAct(
    () => {
      const expiresAt = days === "" ? null : new Date(serviceNow() + Number(days) * DAY_MS).toISOString();
      return send("post", "/api/v1/keys", { body: { name: name.trim(), role, expiresAt, scopes: scopes.size === 0 ? null : [...scopes] } });
    },
    (made) => {
      setKey(made.key);
      // The first key ends the time without keys: this tab goes on with it.
      if (me?.principal?.kind !== "local") return;
      setWasOpen(true);
      signIn(made.key);
    },
  );
  if (key !== null) return <NewKey text={key} wasOpen={wasOpen} onClose={onClose} />;
  return (
    <Confirm title="Create a key" action="Create" isPending={create.isPending} isReady={name.trim() !== ""} error={create.error} onConfirm={() => create.mutate(undefined)} onClose={onClose}>
      <Stack>
        {me?.principal?.kind === "local" && <Notice tone="amber">From the first key on, every request needs one. Make this one an admin, to make others with it.</Notice>}
        <Field label="Name" help="What or who uses it: it is in the audit log.">
          {(ids) => <TextInput {...ids} autoFocus value={name} onChange={(event) => setName(event.target.value)} />}
        </Field>
        <Field label="Role">{(ids) => <Select {...ids} value={role} options={ROLES} onChange={(event) => setRole(event.target.value as Shape<"Role">)} />}</Field>
        <Field label="Expires">{(ids) => <Select {...ids} value={days} options={TERMS} onChange={(event) => setDays(event.target.value)} />}</Field>
        <details>
          <summary>Only a part of the role</summary>
          <fieldset className={styles["scopes"]}>
            <legend className="hidden-text">Permissions; none: all of the role</legend>
            {(me?.principal?.permissions ?? []).map((scope) => (
              <label key={scope} className={styles["scope"]}>
                <input type="checkbox" checked={scopes.has(scope)} onChange={(event) => setScopes(toggled(scopes, scope, event.target.checked))} />
                {scope}
              </label>
            ))}
          </fieldset>
        </details>
      </Stack>
    </Confirm>
  );
}

function toggled(set: ReadonlySet<string>, item: string, isIn: boolean): ReadonlySet<string> {
  const next = new Set(set);
  if (isIn) next.add(item);
  else next.delete(item);
  return next;
}

function NewKey({ text, wasOpen, onClose }: { text: string; wasOpen: boolean; onClose: () => void }) {
  const service = `${window.location.origin}${basePath}`;
  return (
    // Without a way to close it by chance: what it shows is shown only once.
    <Dialog
      title="The new key"
      isOpen
      actions={
        <Button look="primary" onClick={onClose}>
          I have copied it
        </Button>
      }
    >
      <Stack>
        <Notice tone="amber">It is shown this once: only a digest of it is stored.</Notice>
        <Snippet label="Key" text={text} />
        <p>To try it:</p>
        <Snippet label="Command" text={`curl -H 'authorization: Bearer ${text}' ${service}/api/v1/instances`} />
        {wasOpen && <p>From now on every request needs a key. This tab uses the new one until it is closed.</p>}
      </Stack>
    </Dialog>
  );
}
