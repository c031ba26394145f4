import { useState } from "react";
import { useLocation } from "wouter";

import { send, useAct } from "../../api/queries";
import type { Shape } from "../../api/types";
import { problemsUnder } from "../../core/formValues";
import { Button } from "../../kit/Button";
import { Confirm } from "../../kit/Confirm";
import { Dialog } from "../../kit/Dialog";
import { Field, TextInput } from "../../kit/Field";
import { Notice } from "../../kit/Notice";
import { Snippet } from "../../kit/Snippet";
import { Stack } from "../../kit/Stack";
import { toast } from "../../kit/toast";
import { hrefOf, type Listener } from "./listener";
import { newSecret, patternsOf } from "./webhook";
import styles from "./styles.module.css";

/** Creates a webhook, or changes one; a new secret is shown this once. */
export function WebhookDialog({ webhook, onClose }: { webhook?: Listener; onClose: () => void }) {
  const [url, setUrl] = useState(webhook?.url ?? "");
  const [patterns, setPatterns] = useState(webhook?.patterns.join(", ") ?? "workflow.*");
  const [description, setDescription] = useState(webhook?.description ?? "");
  const [secret, setSecret] = useState("");
  const [made, setMade] = useState<{ id: string; secret: string } | null>(null);
  const [, navigate] = useLocation();
  const save = useAct(
    () => {
      const body: Shape<"WebhookRequest"> = { url: url.trim(), patterns: patternsOf(patterns), description: description.trim() || null, secret: secret.trim() || null };
      return webhook === undefined ? send("post", "/api/v1/webhooks", { body }) : send("put", "/api/v1/webhooks/{id}", { path: { id: webhook.id }, body });
    },
    (saved) => {
      // A secret that stays is not told again.
      const shown = saved.secret ?? (secret.trim() || null);
      if (shown !== null) return setMade({ id: saved.id, secret: shown });
      toast({ text: "The webhook is changed" });
      onClose();
    },
  );
  const problemAt = (place: string) => problemsUnder(save.error?.problems ?? [], place).inside.map(({ message }) => message).join(" ");
  if (made !== null) {
    const done = () => {
      onClose();
      if (webhook === undefined) navigate(hrefOf({ kind: "webhook", id: made.id }));
    };
    return <NewSecret secret={made.secret} onClose={done} />;
  }
  return (
    <Confirm
      title={webhook === undefined ? "Create a webhook" : "Edit the webhook"}
      action={webhook === undefined ? "Create" : "Save"}
      isPending={save.isPending}
      isReady={url.trim() !== "" && patternsOf(patterns).length > 0}
      error={save.error}
      onConfirm={() => save.mutate(undefined)}
      onClose={onClose}
    >
      <Stack>
        <Field label="Address" help="It receives each event as a signed POST." problem={problemAt("$.url")}>
          {(ids) => <TextInput {...ids} autoFocus type="url" placeholder="https://example.com/hooks" value={url} onChange={(event) => setUrl(event.target.value)} />}
        </Field>
        <Field label="Events" help="Names, separated by commas: * stands for one word, ** for any number. workflow.* are starts and ends of instances." problem={problemAt("$.patterns")}>
          {(ids) => <TextInput {...ids} value={patterns} onChange={(event) => setPatterns(event.target.value)} />}
        </Field>
        <Field label="Description" problem={problemAt("$.description")}>
          {(ids) => <TextInput {...ids} value={description} onChange={(event) => setDescription(event.target.value)} />}
        </Field>
        <Field label="Secret" help={webhook === undefined ? "It signs what is sent. Empty: one is made." : "Empty: it stays. With another one, the receiver has to know it too."} problem={problemAt("$.secret")}>
          {(ids) => (
            <span className={styles["beside"]}>
              <TextInput {...ids} placeholder="whsec_…" value={secret} onChange={(event) => setSecret(event.target.value)} />
              {webhook !== undefined && <Button onClick={() => setSecret(newSecret(crypto))}>Make one</Button>}
            </span>
          )}
        </Field>
      </Stack>
    </Confirm>
  );
}

function NewSecret({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    // Without a way to close it by chance: what it shows is shown only once.
    <Dialog
      title="The secret of the webhook"
      isOpen
      actions={
        <Button look="primary" onClick={onClose}>
          I have copied it
        </Button>
      }
    >
      <Stack>
        <Notice tone="amber">It is shown this once.</Notice>
        <Snippet label="Secret" text={secret} />
        <p>The receiver checks with it that a request comes from here:</p>
        <Snippet label="Check in Python" text={"from tenuto import verify_signature\n\nis_ours = verify_signature(secret, headers, body)"} />
      </Stack>
    </Dialog>
  );
}
