import { useQuery } from "@tanstack/react-query";
import { KeyRound, LogIn } from "lucide-react";
import { useState, type FormEvent } from "react";

import { readMe, type Me, type Oidc } from "../api/me";
import { ApiProblem } from "../api/problem";
import { Button } from "../kit/Button";
import { Dialog } from "../kit/Dialog";
import { Field, TextInput } from "../kit/Field";
import { asProblem, ErrorState } from "../kit/States";
import { signIn } from "../state/session";
import { useStore } from "../state/store";
import { providerProblem } from "./provider";
import styles from "./SignIn.module.css";

/** Asks for a key, or leads to the identity provider. `isAgain`: over the page that its viewer was on. */
export function SignIn({ me, isAgain = false }: { me: Me | undefined; isAgain?: boolean }) {
  // A refused key hides what the service says to everyone.
  const { data } = useQuery<Me>({ queryKey: ["me", "without a key"], queryFn: () => readMe(null), enabled: me === undefined });
  const oidc = (me ?? data)?.signIn.oidc ?? null;
  const ways = (
    <div className={styles["form"]}>
      {isAgain && <p>The key has expired or was revoked. What you were looking at stays as it is.</p>}
      {oidc !== null && <Provider oidc={oidc} />}
      <KeyForm isSecond={oidc !== null} />
    </div>
  );
  if (isAgain) {
    return (
      <Dialog title="Sign in again" isOpen>
        {ways}
      </Dialog>
    );
  }
  return (
    <main className={styles["alone"]}>
      <div className={styles["card"]}>
        <h1>Sign in to Tenuto</h1>
        {ways}
      </div>
    </main>
  );
}

function Provider({ oidc }: { oidc: Oidc }) {
  const problem = useStore(providerProblem);
  const [isPending, setIsPending] = useState(false);
  const go = async () => {
    setIsPending(true);
    try {
      const { inBrowser, signInUrl } = await import("../api/oidc");
      window.location.assign(await signInUrl(oidc, inBrowser()));
    } catch (error) {
      providerProblem.set(asProblem(error));
      setIsPending(false);
    }
  };
  return (
    <>
      <Button look="primary" icon={<LogIn />} isPending={isPending} onClick={() => void go()}>
        Sign in at {new URL(oidc.issuer).host}
      </Button>
      {problem !== null && <ErrorState isInline error={problem} />}
      <p className={styles["or"]}>or with a key</p>
    </>
  );
}

function KeyForm({ isSecond }: { isSecond: boolean }) {
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
      <Field label="API key" help="It is kept until this tab is closed.">
        {(ids) => <TextInput {...ids} type="password" name="key" autoFocus={!isSecond} value={key} onChange={(event) => setKey(event.target.value)} />}
      </Field>
      {problem !== null && <ErrorState isInline error={problem} />}
      <Button type="submit" look={isSecond ? "plain" : "primary"} icon={<KeyRound />} isPending={isPending} disabled={key.trim() === ""}>
        Sign in
      </Button>
      <p className={styles["help"]}>
        Administrators make keys: <code>tenuto keys create NAME --role operator</code>
      </p>
    </form>
  );
}

/** Why the service does not take a key; null: it does. Tried before it replaces one that may still be good. */
async function refusalOf(key: string): Promise<ApiProblem | null> {
  // A header takes no other characters, so that no key has them.
  if (/[^\x21-\x7e]/.test(key)) {
    return new ApiProblem(401, { title: "This is no key", detail: "It has characters that no key has.", advice: "Copy the whole key, and nothing around it." });
  }
  try {
    await readMe(key);
    return null;
  } catch (error) {
    return asProblem(error);
  }
}
