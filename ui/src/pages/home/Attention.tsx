import { useQuery } from "@tanstack/react-query";
import { CircleCheck } from "lucide-react";
import { Link } from "wouter";

import { useMay } from "../../api/me";
import { read, send, useAct } from "../../api/queries";
import { Button } from "../../kit/Button";
import { Moment } from "../../kit/Moment";
import { Section } from "../../kit/Page";
import { ErrorState, Loading } from "../../kit/States";
import { toast } from "../../kit/toast";
import { allOf, concernsOf, withoutRepeats, type Concern, type Group } from "./concerns";
import styles from "./styles.module.css";

const REFRESH_MS = 5_000;
const HOURS = 24;

/** What is wrong now, each in a sentence with the one thing to do about it. */
export function Attention() {
  const query = useQuery({ ...read("/api/v1/attention", { query: { hours: HOURS } }), refetchInterval: REFRESH_MS });
  const groups = query.data && withoutRepeats(query.data.groups);
  return (
    <Section title="Needs attention">
      {groups === undefined ? (
        query.error === null ? (
          <Loading label="Looking for what needs attention" />
        ) : (
          <ErrorState isInline error={query.error} onRetry={() => void query.refetch()} />
        )
      ) : groups.length === 0 ? (
        <p className={styles["fine"]}>
          <CircleCheck aria-hidden /> Nothing failed in the last {HOURS} hours, and no approval is overdue.
        </p>
      ) : (
        <ul className={styles["concerns"]}>
          {groups.map((group) => (
            <Some key={group.kind} group={group} />
          ))}
        </ul>
      )}
    </Section>
  );
}

function Some({ group }: { group: Group }) {
  const all = allOf(group.kind, HOURS);
  return (
    <>
      {concernsOf(group).map(({ concern, item }) => (
        <Row key={concern.key} concern={concern} instanceId={item.instanceId ?? null} />
      ))}
      {group.hasMore && (
        <li className={styles["more"]}>
          {group.items.length > 0 ? "There are more: " : "Also: "}
          <Link href={all.href}>{all.label}</Link>
        </li>
      )}
    </>
  );
}

function Row({ concern, instanceId }: { concern: Concern; instanceId: string | null }) {
  const mayControl = useMay("instances:control");
  const retry = useAct(
    (id: string) => send("post", "/api/v1/instances/{id}/retry", { path: { id }, body: {} }),
    () => toast({ text: `${concern.subject} is retried.` }),
  );
  const isRetry = concern.action.does === "retry" && mayControl && instanceId !== null;
  return (
    <li className={styles["concern"]}>
      <i className={styles["dot"]} style={{ background: `var(--${concern.tone})` }} aria-hidden />
      <Link href={concern.href} className={styles["sentence"]}>
        <b>{concern.subject}</b> {concern.text}
      </Link>
      <span className={styles["when"]}>
        <Moment at={concern.at} />
      </span>
      {isRetry ? (
        <Button isPending={retry.isPending} onClick={() => retry.mutate(instanceId)}>
          {concern.action.label}
        </Button>
      ) : (
        <Link href={concern.href} className={styles["go"]}>
          {concern.action.does === "retry" ? "Open" : concern.action.label}
        </Link>
      )}
      {retry.error !== null && (
        <div className={styles["refusal"]}>
          <ErrorState isInline error={retry.error} />
        </div>
      )}
    </li>
  );
}
