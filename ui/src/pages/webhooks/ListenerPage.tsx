import type { UseMutationResult } from "@tanstack/react-query";
import { Pencil, Power, RotateCw, Trash2 } from "lucide-react";
import { useState } from "react";
import { Link, useLocation } from "wouter";

import { useMay } from "../../api/me";
import type { ApiProblem } from "../../api/problem";
import type { useList } from "../../api/queries";
import { count, counted } from "../../core/format";
import { path } from "../../core/url";
import { Button } from "../../kit/Button";
import { Confirm } from "../../kit/Confirm";
import { Facts } from "../../kit/Facts";
import { Moment } from "../../kit/Moment";
import { Notice } from "../../kit/Notice";
import { Page, Section } from "../../kit/Page";
import { Stack } from "../../kit/Stack";
import { ErrorState, Loading } from "../../kit/States";
import { StatusBadge } from "../../kit/StatusBadge";
import { toast } from "../../kit/toast";
import type { Listener } from "./listener";
import styles from "./styles.module.css";
import { WebhookDialog } from "./WebhookDialog";

type Act = UseMutationResult<unknown, ApiProblem, unknown>;
type Deliveries = ReturnType<typeof useList<"/api/v1/webhooks/{id}/deliveries">>;

interface Props {
  title: string;
  found: { isPending: boolean; error: ApiProblem | null; refetch: () => unknown };
  listener: Listener | undefined;
  deliveries: Deliveries;
  enable: Act;
  resend: Act;
  remove: Act;
}

/** A webhook or a subscription: its state, what is on its way, what was lost, and what can be done. */
export function ListenerPage({ title, found, listener, deliveries, enable, resend, remove }: Props) {
  const crumbs = [{ label: "Webhooks and subscriptions", href: title === "Webhook" ? "/webhooks" : "/webhooks?tab=subscriptions" }];
  return (
    <Page title={title} heading={listener?.description || title} crumbs={crumbs} actions={listener !== undefined && <Actions listener={listener} enable={enable} resend={resend} remove={remove} />}>
      {listener === undefined ? (
        found.isPending ? (
          <Loading label={`Loading the ${title.toLowerCase()}`} />
        ) : (
          <ErrorState error={found.error} onRetry={() => void found.refetch()} />
        )
      ) : (
        <Details listener={listener} deliveries={deliveries} errors={[enable.error, resend.error]} />
      )}
    </Page>
  );
}

function Details({ listener, deliveries, errors }: { listener: Listener; deliveries: Deliveries; errors: readonly (ApiProblem | null)[] }) {
  return (
    <>
      <Section>
        <Stack>
          {errors.map((error) => error !== null && <ErrorState key={error.code} isInline error={error} />)}
          {listener.lastError !== null && listener.state !== "active" && (
            <Notice tone={listener.state === "disabled" ? "red" : "amber"}>
              {listener.state === "disabled" ? "Nothing is sent until it is enabled: it failed for days. " : "Nothing has arrived lately; it is tried again. "}
              The last error: {listener.lastError}
            </Notice>
          )}
          <Facts
            facts={[
              ["State", <StatusBadge key="" status={listener.state} />],
              ["Address", <code key="">{listener.url}</code>],
              ["Events", listener.patterns.join(", ")],
              ["Subscriber", listener.subscriberId],
              ["Condition", listener.filter === null ? null : <code key="">{listener.filter}</code>],
              ["Correlation", listener.correlationId],
              ["Last arrived", <Moment key="" at={listener.deliveredAt} />],
              ["Failing since", listener.failingSince === null ? null : <Moment key="" at={listener.failingSince} />],
              ["Disabled", listener.disabledAt === null ? null : <Moment key="" at={listener.disabledAt} />],
              ["Expires", listener.expiresAt === null ? null : <Moment key="" at={listener.expiresAt} />],
              ["Made", <Moment key="" at={listener.createdAt} />],
            ]}
          />
        </Stack>
      </Section>
      <Section title={`On the way: ${counted(listener.pending, "notification")}`}>
        {deliveries.error !== null && deliveries.items.length === 0 ? (
          <ErrorState isInline error={deliveries.error} onRetry={deliveries.refresh} />
        ) : deliveries.items.length === 0 ? (
          <p className={styles["muted"]}>Everything has arrived.</p>
        ) : (
          <>
            <Pending items={deliveries.items} />
            {deliveries.hasMore && (
              <Button isPending={deliveries.isReadingMore} onClick={deliveries.readMore}>
                Read on
              </Button>
            )}
          </>
        )}
      </Section>
      {listener.gaps.length > 0 && (
        <Section title="What was not sent">
          <ul className={styles["gaps"]}>
            {listener.gaps.map((gap) => (
              <li key={gap.since}>
                <Moment at={gap.since} /> to {gap.until === null ? "now" : <Moment at={gap.until} />}: {counted(gap.lost, "notification")}, {gap.reason}
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

function Pending({ items }: { items: Deliveries["items"] }) {
  return (
    <div className={styles["scroll"]} tabIndex={0} role="group" aria-label="Notifications on the way">
      <table className={styles["pending"]}>
        <thead>
          <tr>
            <th scope="col">Event</th>
            <th scope="col">Since</th>
            <th scope="col">Attempts</th>
            <th scope="col">Next try</th>
          </tr>
        </thead>
        <tbody>
          {items.map((each) => (
            <tr key={each.eventId}>
              <td>
                <Link href={path("events", each.eventId)} className={styles["url"]}>
                  {each.eventId}
                </Link>
              </td>
              <td>
                <Moment at={each.createdAt} />
              </td>
              <td>{count(each.attempts)}</td>
              <td>
                <Moment at={each.dueAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Actions({ listener, enable, resend, remove }: { listener: Listener; enable: Act; resend: Act; remove: Act }) {
  const [isRemoving, setIsRemoving] = useState(false);
  const [isChanging, setIsChanging] = useState(false);
  const [, navigate] = useLocation();
  if (!useMay("listeners:write")) return null;
  return (
    <>
      <Button icon={<Trash2 />} look="danger" onClick={() => setIsRemoving(true)}>
        Remove
      </Button>
      {listener.kind === "webhook" && (
        <Button icon={<Pencil />} onClick={() => setIsChanging(true)}>
          Edit
        </Button>
      )}
      {listener.pending > 0 && listener.state !== "disabled" && (
        <Button icon={<RotateCw />} isPending={resend.isPending} onClick={() => resend.mutate(undefined, { onSuccess: () => toast({ text: "What waits is tried now" }) })}>
          Resend now
        </Button>
      )}
      {listener.state === "disabled" && (
        <Button icon={<Power />} look="primary" isPending={enable.isPending} onClick={() => enable.mutate(undefined, { onSuccess: () => toast({ text: "It is enabled" }) })}>
          Enable
        </Button>
      )}
      {isChanging && <WebhookDialog webhook={listener} onClose={() => setIsChanging(false)} />}
      {isRemoving && (
        <Confirm
          title={`Remove the ${listener.kind}`}
          action="Remove"
          isDanger
          isPending={remove.isPending}
          error={remove.error}
          onClose={() => setIsRemoving(false)}
          onConfirm={() => remove.mutate(undefined, { onSuccess: () => navigate(listener.kind === "webhook" ? "/webhooks" : "/webhooks?tab=subscriptions") })}
        >
          <p>{listener.pending === 0 ? "It receives no more events." : `It receives no more events, and ${counted(listener.pending, "notification")} on the way ${listener.pending === 1 ? "is" : "are"} dropped.`}</p>
        </Confirm>
      )}
    </>
  );
}
