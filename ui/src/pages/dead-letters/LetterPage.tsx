import { useQuery } from "@tanstack/react-query";
import { Pencil, RotateCw, Trash2 } from "lucide-react";
import { useState } from "react";
import { Link, useLocation } from "wouter";

import { useMay } from "../../api/me";
import { read, send, useAct } from "../../api/queries";
import type { Shape } from "../../api/types";
import { encode, link, path } from "../../core/url";
import { useLastPart } from "../../kit/address";
import { Button } from "../../kit/Button";
import { Confirm } from "../../kit/Confirm";
import { Facts } from "../../kit/Facts";
import { JsonEditor } from "../../kit/JsonEditor";
import { JsonView } from "../../kit/JsonView";
import { Moment } from "../../kit/Moment";
import { Page, Section } from "../../kit/Page";
import { Stack } from "../../kit/Stack";
import { EmptyState, ErrorState, Loading } from "../../kit/States";
import { toast } from "../../kit/toast";
import { Attempts } from "./Attempts";
import { causeOf, errorOf, FILTER, kindWords } from "./filter";
import styles from "./styles.module.css";

type Letter = Shape<"DeadLetterDetails">;

/** One dead letter: why it is there, with what it failed, and what can be done. */
export default function LetterPage() {
  const id = useLastPart();
  const letter = useQuery(read("/api/v1/dead-letters/{id}", { path: { id } }));
  const crumbs = [{ label: "Dead letters", href: "/dead-letters" }];
  const { code } = errorOf(letter.data?.error);
  const title = letter.data === undefined ? "Dead letter" : (code ?? kindWords(letter.data.kind));
  const isGone = letter.error?.status === 404;
  return (
    <Page title={title} crumbs={crumbs} actions={letter.data !== undefined && !isGone && <Actions letter={letter.data} />}>
      {letter.isPending ? (
        <Loading label="Loading the dead letter" />
      ) : isGone ? (
        <EmptyState
          title="This dead letter is gone"
          action={
            <Link href={path("instances", id.split(":")[0] ?? "")} className={styles["code"]}>
              Open its instance
            </Link>
          }
        >
          It was retried or discarded, or never existed.
        </EmptyState>
      ) : letter.data === undefined ? (
        <ErrorState error={letter.error} onRetry={() => void letter.refetch()} />
      ) : (
        <Details letter={letter.data} />
      )}
    </Page>
  );
}

function Details({ letter }: { letter: Letter }) {
  const { code, message } = errorOf(letter.error);
  const cause = link("/dead-letters", encode(FILTER, causeOf({ ...letter, code })));
  return (
    <>
      <Section>
        <Stack>
          {message !== null && <p className={styles["message"]}>{message}</p>}
          <Facts
            facts={[
              ["Kind", kindWords(letter.kind)],
              ["Workflow", letter.workflowId === null ? "erased" : <Link key="" href={path("workflows", letter.workflowId)}>{letter.workflowId}</Link>],
              ["Instance", <Link key="" href={path("instances", letter.instanceId)} className={styles["id"]}>{letter.instanceId}</Link>],
              ["Step", letter.iteration === "" ? letter.stepId : `${letter.stepId}, iteration ${letter.iteration}`],
              ["Task", letter.taskId],
              ["Attempts", String(letter.attempts)],
              ["Time", <Moment key="" at={letter.at} />],
              ["Same cause", <Link key="" href={cause}>show all</Link>],
            ]}
          />
        </Stack>
      </Section>
      <div className={styles["sides"]}>
        <Section title="Error">
          <JsonView label="Error" value={letter.error} />
        </Section>
        <Section title="Input">
          <JsonView label="Input" value={letter.input} />
        </Section>
      </div>
      {letter.output !== undefined && (
        <Section title="Result that came too late">
          <JsonView label="Result" value={letter.output} />
        </Section>
      )}
      <Section title="Attempts">
        <Attempts entries={letter.history} />
      </Section>
    </>
  );
}

function Actions({ letter }: { letter: Letter }) {
  const [, navigate] = useLocation();
  const [isOpen, setIsOpen] = useState<"edit" | "discard" | null>(null);
  const retry = useAct(
    () => send("post", "/api/v1/dead-letters/{id}/retry", { path: { id: letter.id }, body: {} }),
    () => {
      toast({ text: "It is tried again" });
      navigate(path("instances", letter.instanceId));
    },
  );
  const discard = useAct(
    () => send("post", "/api/v1/dead-letters/{id}/discard", { path: { id: letter.id }, body: {} }),
    () => {
      toast({ text: "The dead letter is discarded" });
      navigate("/dead-letters");
    },
  );
  if (!useMay("dead-letters:write")) return null;
  return (
    <>
      {retry.error !== null && <ErrorState isInline error={retry.error} />}
      <Button icon={<Trash2 />} look="danger" onClick={() => setIsOpen("discard")}>
        Discard
      </Button>
      {letter.kind !== "late-result" && (
        <>
          <Button icon={<Pencil />} onClick={() => setIsOpen("edit")}>
            Edit input and retry
          </Button>
          <Button icon={<RotateCw />} look="primary" isPending={retry.isPending} onClick={() => retry.mutate(undefined)}>
            Retry
          </Button>
        </>
      )}
      {isOpen === "edit" && <EditAndRetry letter={letter} onClose={() => setIsOpen(null)} />}
      {isOpen === "discard" && (
        <Confirm title="Discard the dead letter" action="Discard" isDanger isPending={discard.isPending} error={discard.error} onConfirm={() => discard.mutate(undefined)} onClose={() => setIsOpen(null)}>
          <p>The letter is deleted; the instance stays as it is. This cannot be taken back.</p>
        </Confirm>
      )}
    </>
  );
}

function EditAndRetry({ letter, onClose }: { letter: Letter; onClose: () => void }) {
  const [, navigate] = useLocation();
  const [text, setText] = useState(() => JSON.stringify(letter.input, null, 2) ?? "null");
  const given = parsed(text);
  const retry = useAct(
    () => send("post", "/api/v1/dead-letters/{id}/retry", { path: { id: letter.id }, body: { input: given?.value } }),
    () => {
      toast({ text: "It is tried again with the edited input" });
      navigate(path("instances", letter.instanceId));
    },
  );
  return (
    <Confirm title="Edit input and retry" action="Retry with this input" size="wide" isPending={retry.isPending} isReady={given !== null} error={retry.error} onConfirm={() => retry.mutate(undefined)} onClose={onClose}>
      <Stack>
        <p>The task gets this input instead of the one that it failed with. The edit is in the log and in the audit log.</p>
        <JsonEditor label="Input" value={text} onChange={setText} />
        {given === null && <p className={styles["problem"]}>This is not JSON.</p>}
      </Stack>
    </Confirm>
  );
}

function parsed(text: string): { value: unknown } | null {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return null;
  }
}
