import { useQuery } from "@tanstack/react-query";
import { Square } from "lucide-react";
import { Link, useSearchParams } from "wouter";

import { useMay } from "../../api/me";
import { read, send, useAct } from "../../api/queries";
import type { PageProps } from "../../app/pages";
import { count } from "../../core/format";
import { path } from "../../core/url";
import { Button } from "../../kit/Button";
import { CopyButton } from "../../kit/CopyButton";
import { Moment, useNow } from "../../kit/Moment";
import { Page, Section } from "../../kit/Page";
import { ProgressBar } from "../../kit/ProgressBar";
import { ErrorState, Loading } from "../../kit/States";
import { StatusBadge } from "../../kit/StatusBadge";
import styles from "./styles.module.css";
import { aboutWords, paceOf, progressWords, statusOf, titleOf, totalOf, type Operation } from "./words";

const REFRESH_MS = 500;
const MOST_FAILURES = 100;
const PERMISSIONS = { "dead-letters": "dead-letters:write", instances: "instances:control", ticks: "schedules:control" } as const;
const LISTS = {
  "dead-letters": { href: "/dead-letters", label: "Dead letters" },
  instances: { href: "/instances", label: "Instances" },
  ticks: { href: "/schedules", label: "Schedules" },
} as const;

/** One action over many: how far it is, what it did, what failed, and a way to stop it. */
export default function OperationPage({ params }: PageProps) {
  const id = params["id"] ?? "";
  const [search] = useSearchParams();
  const query = useQuery({
    ...read("/api/v1/instances/bulk/{id}", { path: { id } }),
    refetchInterval: ({ state }) => (state.data === undefined || state.data.status === "running") && REFRESH_MS,
  });
  const crumbs = [{ label: "Bulk operations", href: "/operations" }];
  if (query.data === undefined) {
    return (
      <Page title="Bulk operation" crumbs={crumbs}>
        {query.error === null ? <Loading label="Loading the operation" /> : <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      </Page>
    );
  }
  const of = Number.parseInt(search.get("of") ?? "", 10);
  return <Shown operation={query.data} counted={Number.isSafeInteger(of) && of >= 0 ? of : null} crumbs={crumbs} />;
}

function Shown({ operation, counted, crumbs }: { operation: Operation; counted: number | null; crumbs: { label: string; href: string }[] }) {
  const now = useNow(1_000);
  const mayControl = useMay(PERMISSIONS[operation.target] ?? "instances:control");
  const stop = useAct((id: string) => send("delete", "/api/v1/instances/bulk/{id}", { path: { id } }));
  const total = totalOf(operation, counted);
  const words = progressWords(operation, total, paceOf(operation, total, now));
  const isRunning = operation.status === "running";
  const list = LISTS[operation.target] ?? LISTS.instances;
  return (
    <Page
      title={titleOf(operation)}
      crumbs={crumbs}
      heading={
        <span className={styles["heading"]}>
          {titleOf(operation)} <StatusBadge status={statusOf(operation)} />
        </span>
      }
      actions={
        isRunning &&
        mayControl && (
          <Button look="danger" icon={<Square />} isPending={stop.isPending} onClick={() => stop.mutate(operation.id ?? "")}>
            Stop
          </Button>
        )
      }
    >
      <Section>
        {stop.error !== null && <ErrorState isInline error={stop.error} />}
        <div className={styles["progress"]}>
          <ProgressBar
            label={titleOf(operation)}
            total={Math.max(total ?? operation.matched, 1)}
            parts={[
              { status: "COMPLETED", count: operation.done },
              { status: "FAILED", count: operation.failed },
            ]}
          />
          <p role="status">{words}</p>
        </div>
        <dl className={styles["facts"]}>
          <Fact name="Done">{count(operation.done)}</Fact>
          <Fact name="Failed">{count(operation.failed)}</Fact>
          <Fact name="Asked for by">{operation.requestedBy}</Fact>
          <Fact name="Began">
            <Moment at={operation.createdAt} />
          </Fact>
          <Fact name="Ended">
            <Moment at={operation.endedAt} />
          </Fact>
          {operation.stoppedBy != null && <Fact name="Stopped by">{operation.stoppedBy}</Fact>}
          <Fact name="Id">
            <span className={styles["id"]}>
              <code>{operation.id}</code>
              <CopyButton text={operation.id ?? ""} label="Copy id" />
            </span>
          </Fact>
        </dl>
        <p className={styles["about"]}>{aboutWords(operation)} <Link href={list.href}>{list.label}</Link></p>
      </Section>
      {operation.failures.length > 0 && (
        <Section title={operation.failed > MOST_FAILURES ? `The first ${MOST_FAILURES} of ${count(operation.failed)} that failed` : "What failed"}>
          <ul className={styles["failures"]}>
            {operation.failures.map((failure) => (
              <li key={failure.id}>
                {operation.target === "instances" ? (
                  <Link href={path("instances", failure.id)} className={styles["mono"]}>
                    {failure.id}
                  </Link>
                ) : (
                  <code>{failure.id}</code>
                )}
                <code className={styles["code"]}>{failure.code}</code>
                <span>{failure.message}</span>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </Page>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
