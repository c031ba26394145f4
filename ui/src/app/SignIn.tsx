import { KeyRound } from "lucide-react";
import { useState, type FormEvent } from "react";

import { basePath } from "../api/base";
import type { Me } from "../api/me";
import { ApiProblem, problemOf, unreachable } from "../api/problem";
import { Button } from "../kit/Button";
import { Dialog } from "../kit/Dialog";
import { Field, TextInput } from "../kit/Field";
import { ErrorState } from "../kit/States";
import { signIn } from "../state/session";
import styles from "./SignIn.module.css";

/** Asks for a key. `isAgain`: over the page that its viewer was on, which stays as it is. */
export function SignIn({ me, isAgain = false }: { me: Me | undefined; isAgain?: boolean }) {
  const form = <KeyForm me={me} isAgain={isAgain} />;
  if (isAgain) {
    return (
      <Dialog title="Sign in again" isOpen onClose={() => undefined}>
        {form}
      </Dialog>
    );
  }
  return (
    <main className={styles["alone"]}>
      <div className={styles["card"]}>
        <h1>Sign in to Tenuto</h1>
        {form}
      </div>
    </main>
  );
}

function KeyForm({ isAgain }: { me: Me | undefined; isAgain: boolean }) {
  const [key, setKey] = useState("");
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [isPending, setIsPending] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const given = key.trim();
    if (given === "" || isPending) return;
    setIsPending(true);
    const refusal = await refusalOf(given);
    setIsPending(false);
    setProblem(refusal);
    if (refusal === null) signIn(given);
  };
  return (
    <form className={styles["form"]} onSubmit={(event) => void submit(event)}>
      {isAgain && <p>The key has expired or was revoked. What you were looking at stays as it is.</p>}
      <Field label="API key" help="It is kept until this tab is closed.">
        {(ids) => <TextInput {...ids} type="password" name="key" autoFocus value={key} onChange={(event) => setKey(event.target.value)} />}
      </Field>
      {problem !== null && <ErrorState isInline error={problem} />}
      <Button type="submit" look="primary" icon={<KeyRound />} isPending={isPending} disabled={key.trim() === ""}>
        Sign in
      </Button>
      <p className={styles["help"]}>
        An administrator makes keys: <code>tenuto keys create NAME --role operator</code>
      </p>
    </form>
  );
}

/** Why the service does not take a key; null: it does. Tried before it replaces one that may still be good. */
async function refusalOf(key: string): Promise<ApiProblem | null> {
  let response: Response;
  try {
    response = await fetch(`${basePath}/api/v1/me`, { headers: { authorization: `Bearer ${key}` } });
  } catch (error) {
    // A header takes no such characters, so that no key has them.
    if (error instanceof TypeError && /[^\x21-\x7e]/.test(key)) {
      return new ApiProblem(401, { title: "This is no key", detail: "It has characters that no key has.", advice: "Copy the whole key, and nothing around it." });
    }
    return unreachable();
  }
  if (!response.ok) return problemOf(response);
  return null;
}
