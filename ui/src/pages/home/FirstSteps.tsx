import { useQuery } from "@tanstack/react-query";
import { BookOpen, Check, Play, Send, X } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Link } from "wouter";

import { basePath } from "../../api/base";
import { useMay, useMe } from "../../api/me";
import { read, send, useAct } from "../../api/queries";
import { asCommand, type Action } from "../../core/commands";
import { path } from "../../core/url";
import { Button, IconButton } from "../../kit/Button";
import { classes } from "../../kit/classes";
import { CopyButton } from "../../kit/CopyButton";
import { ErrorState } from "../../kit/States";
import { StatusBadge } from "../../kit/StatusBadge";
import styles from "./FirstSteps.module.css";
import { orderIdOf, OWN_SAMPLE, PATTERN, paymentOf, SAMPLE_DEFINITION, sampleOf, startOf } from "./sample";

const LOOK_MS = 1_000;
const PLACE = "tenuto.firstSteps";
/** A store with so many instances is known to its people. */
const YOUNG_BELOW = 10;

/** Three things to try while there is little to see; each is one click, and the command that does the same. */
export function FirstSteps() {
  const [isHidden, setIsHidden] = useState(() => stored() === "hidden");
  const mayRead = useMay("instances:read");
  const mayReadWorkflows = useMay("workflows:read");
  const instances = useQuery({ ...read("/api/v1/instances", { query: { roots: true, limit: YOUNG_BELOW } }), enabled: mayRead, refetchInterval: 5_000 });
  const workflows = useQuery({ ...read("/api/v1/workflows", { query: { limit: 100 } }), enabled: mayReadWorkflows });
  const isYoung = instances.data !== undefined && instances.data.items.length < YOUNG_BELOW;
  const ids = workflows.data?.items.map(({ id }) => id);
  const isEmpty = instances.data?.items.length === 0;
  if (!isYoung || ids === undefined || (isHidden && !isEmpty)) return null;
  const sample = sampleOf(ids);
  const hide = () => {
    setIsHidden(true);
    keep("hidden");
  };
  return (
    <section className={styles["steps"]} aria-label="Things to try">
      <header>
        <h2>{isEmpty ? "Nothing has run yet. Three things to try" : "Three things to try"}</h2>
        {!isEmpty && <IconButton label="Hide things to try" icon={<X />} onClick={hide} />}
      </header>
      <ol className={styles["cards"]}>{sample !== undefined ? <SampleCards workflow={sample} /> : ids[0] === undefined ? <NoWorkflowCards /> : <OwnCards workflow={ids[0]} />}</ol>
    </section>
  );
}

/** Start the sample order, send its payment, read how it works. */
function SampleCards({ workflow }: { workflow: string }) {
  const list = useQuery({ ...read("/api/v1/instances", { query: { workflowId: workflow, limit: 100 } }), refetchInterval: LOOK_MS });
  const orders = list.data?.items ?? [];
  const waiting = useQuery({ ...read("/api/v1/instances", { query: { workflowId: workflow, waitingFor: PATTERN, limit: 1 } }), refetchInterval: LOOK_MS });
  // The one that waits can be paid; else the newest is shown.
  const shown = waiting.data?.items[0] ?? orders[0];
  const whole = useQuery({ ...read("/api/v1/instances/{id}", { path: { id: shown?.id ?? "" } }), enabled: shown !== undefined, refetchInterval: LOOK_MS });
  const orderId = orderIdOf(whole.data?.input);
  const isWaiting = waiting.data?.items[0] !== undefined && orderId !== null;
  const mayStart = useMay("instances:start");
  const mayPublish = useMay("events:publish");
  const next = startOf(workflow, orders.length + 1);
  const start = useAct(() => send("post", "/api/v1/workflows/{id}/start", { path: { id: workflow }, body: { input: next.input } }));
  const payment = paymentOf(orderId ?? "A1");
  const pay = useAct(() => send("post", "/api/v1/events", { body: { pattern: PATTERN, payload: payment.payload } }));
  const isPaid = whole.data?.status === "COMPLETED";
  return (
    <>
      <Card
        number={1}
        isDone={orders.length > 0}
        title="Start the sample order"
        command={next}
        action={
          mayStart && (
            <Button look={orders.length === 0 ? "primary" : "plain"} icon={<Play />} isPending={start.isPending} onClick={() => start.mutate(undefined)}>
              {orders.length === 0 ? "Start it" : "Start another"}
            </Button>
          )
        }
        error={start.error}
      >
        It waits for its payment, also over restarts of the service, and goes on when the event comes.
      </Card>
      <Card
        number={2}
        isDone={isPaid && !isWaiting}
        title="Send its payment"
        command={payment}
        action={
          mayPublish && (
            <Button look={isWaiting ? "primary" : "plain"} icon={<Send />} disabled={!isWaiting} isPending={pay.isPending} onClick={() => pay.mutate(undefined)}>
              Send payment.received
            </Button>
          )
        }
        error={pay.error}
      >
        {shown === undefined ? (
          "An order waits for the event payment.received with its own orderId."
        ) : (
          <span className={styles["order"]} role="status">
            <Link href={path("instances", shown.id)}>Order {orderId ?? ""}</Link> <StatusBadge status={whole.data?.status ?? shown.status} />
            {isPaid && !isWaiting && " The payment let it go on, to its end."}
            {isWaiting && " It waits for payment.received."}
          </span>
        )}
      </Card>
      <HowToCard />
    </>
  );
}

/** Workflows of their own: what to do first is the same. */
function OwnCards({ workflow }: { workflow: string }) {
  return (
    <>
      <Card number={1} title={`Start ${workflow}`} command={{ kind: "start", workflow, input: {} }} action={<Link className={styles["link"]} href={`${path("workflows", workflow)}/start`}>Open its form</Link>}>
        Its form is made from the schema of its input, and says what is missing.
      </Card>
      <Card number={2} title="Send an event" command={{ kind: "publish", pattern: PATTERN, payload: { orderId: "A1" } }} action={<Link className={styles["link"]} href="/events/publish">Send an event</Link>}>
        A dry run says beforehand which instances an event would reach, and which it would nearly reach.
      </Card>
      <HowToCard />
    </>
  );
}

function NoWorkflowCards() {
  const mayWrite = useMay("workflows:write");
  const mayStart = useMay("instances:start");
  const first = startOf(OWN_SAMPLE, 1);
  const begin = useAct(async () => {
    await send("post", "/api/v1/workflows", { body: SAMPLE_DEFINITION });
    await send("post", "/api/v1/workflows/{id}/start", { path: { id: OWN_SAMPLE }, body: { input: first.input } });
  });
  const make = (
    <Card number={mayWrite && mayStart ? 2 : 1} title="Make a workflow" line="tenuto init shop && cd shop && tenuto dev flow.py">
      A project with a workflow, its tasks and a test; the page shows it as soon as it is served.
    </Card>
  );
  return (
    <>
      {mayWrite && mayStart ? (
        <>
          <Card
            number={1}
            title="Start a sample order"
            line="make run"
            action={
              <Button look="primary" icon={<Play />} isPending={begin.isPending} onClick={() => begin.mutate(undefined)}>
                Start it
              </Button>
            }
            error={begin.error}
          >
            A workflow that needs no task is saved here, and started: it waits for its payment, which can be sent from this page. In a checkout, the examples have more.
          </Card>
          {make}
        </>
      ) : (
        <>
          {make}
          <Card number={2} title="Or serve the examples" line="make run">
            In a checkout of Tenuto: an order is started and waits for its payment, which can be sent from here.
          </Card>
        </>
      )}
      <HowToCard />
    </>
  );
}

const HowToCard = () => (
  <Card number={3} title="Read how it works" line="tenuto explain @last" action={<Link className={styles["link"]} href="/how-to"><BookOpen aria-hidden /> The first five minutes</Link>}>
    What an instance is, why it survives a crash, and how to see why one does not move.
  </Card>
);

interface CardProps {
  number: number;
  title: string;
  isDone?: boolean;
  action?: ReactNode;
  error?: unknown;
  command?: Action;
  line?: string;
  children: ReactNode;
}

function Card({ number, title, isDone = false, action, error, command, line, children }: CardProps) {
  const me = useMe();
  const place = { url: `${window.location.origin}${basePath}`, needsKey: me?.signIn.isRequired ?? false };
  const words = line ?? (command === undefined ? "" : asCommand(command, place));
  return (
    <li className={styles["card"]}>
      <h3>
        <span className={classes(styles["number"], isDone && styles["done"])} role={isDone ? "img" : undefined} aria-label={isDone ? "Done" : undefined}>
          {isDone ? <Check aria-hidden /> : number}
        </span>
        {title}
      </h3>
      <p>{children}</p>
      {action !== undefined && action !== false && <div className={styles["action"]}>{action}</div>}
      {error !== undefined && error !== null && <ErrorState isInline error={error} />}
      <div className={styles["command"]}>
        <code tabIndex={0} role="group" aria-label="In a terminal">
          {words}
        </code>
        <CopyButton text={words} label="Copy command" />
      </div>
    </li>
  );
}

function stored(): string | null {
  try {
    return localStorage.getItem(PLACE);
  } catch {
    return null;
  }
}

function keep(value: string): void {
  try {
    localStorage.setItem(PLACE, value);
  } catch {
    // Without storage it lasts as long as the page.
  }
}
