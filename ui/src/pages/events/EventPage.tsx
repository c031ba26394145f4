import { useQuery } from "@tanstack/react-query";
import { Send } from "lucide-react";
import { useLocation } from "wouter";

import { useMay } from "../../api/me";
import { read } from "../../api/queries";
import type { Shape } from "../../api/types";
import { reachedWords } from "../../core/eventReach";
import type { Json } from "../../core/json";
import { useLastPart } from "../../kit/address";
import { Button } from "../../kit/Button";
import { CopyAs } from "../../kit/CopyAs";
import { CopyButton } from "../../kit/CopyButton";
import { JsonView } from "../../kit/JsonView";
import { Moment } from "../../kit/Moment";
import { Page, Section } from "../../kit/Page";
import { ErrorState, Loading } from "../../kit/States";
import { publishHref } from "./links";
import { NearMisses, Recipients } from "./Recipients";
import styles from "./styles.module.css";

const CRUMBS = [{ label: "Events", href: "/events" }];
const REFRESH_MS = 3_000;

/** One event: what it carried, what it reached, and what it nearly reached. */
export default function EventPage() {
  const id = useLastPart();
  const found = useQuery({
    ...read("/api/v1/events/{id}", { path: { id } }),
    refetchInterval: ({ state }) => state.data?.matched === false && REFRESH_MS,
  });
  const event = found.data;
  return (
    <Page title={event?.pattern ?? "Event"} crumbs={CRUMBS} actions={event !== undefined && <Actions event={event} />}>
      {found.isPending ? <Loading label="Loading the event" /> : event === undefined ? <ErrorState error={found.error} onRetry={() => void found.refetch()} /> : <Shown event={event} />}
    </Page>
  );
}

function Actions({ event }: { event: Shape<"EventView"> }) {
  const [, navigate] = useLocation();
  const { pattern, payload, correlationId } = event;
  if (!useMay("events:publish")) return null;
  const again = publishHref({ pattern, payload, correlationId });
  return (
    <>
      <CopyAs action={{ kind: "publish", pattern, payload: payload as Json, ...(correlationId === null ? {} : { correlationId }) }} link={again} />
      <Button icon={<Send />} onClick={() => navigate(again)}>
        Publish again
      </Button>
    </>
  );
}

function Shown({ event }: { event: Shape<"EventView"> }) {
  const did = reachedWords(event);
  return (
    <>
      <Section>
        <dl className={styles["facts"]}>
          <dt>It did</dt>
          <dd className={styles["did"]}>{did || (event.matched ? "Nothing: no wait and no trigger took it" : "Nothing yet: it is being matched")}</dd>
          <dt>Id</dt>
          <dd className={styles["copied"]}>
            <code>{event.eventId}</code> <CopyButton label="Copy the id" text={event.eventId} />
          </dd>
          <dt>Received</dt>
          <dd>
            <Moment at={event.receivedAt} />
          </dd>
          {event.timestamp !== null && (
            <>
              <dt>Happened</dt>
              <dd>
                <Moment at={event.timestamp} />
              </dd>
            </>
          )}
          {event.correlationId !== null && (
            <>
              <dt>Correlation id</dt>
              <dd>
                <code>{event.correlationId}</code>
              </dd>
            </>
          )}
        </dl>
      </Section>
      {event.deliveries.length > 0 && (
        <Section title="Reached">
          <Recipients given={event.deliveries} />
        </Section>
      )}
      {event.nearMisses.length > 0 && (
        <Section title="Nearly reached">
          <NearMisses given={event.nearMisses} />
        </Section>
      )}
      {event.deliveries.length === 0 && event.nearMisses.length === 0 && event.matched && (
        <Section title="Reached">
          <p className={styles["muted"]}>Nothing waited for {event.pattern}. A wait that opens later looks back at it.</p>
        </Section>
      )}
      <Section title="Payload">
        <JsonView label="Payload" value={event.payload} />
      </Section>
    </>
  );
}
