import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, type ReactNode } from "react";
import { Link } from "wouter";

import { useHas, useMay } from "../../api/me";
import { read, useList } from "../../api/queries";
import { factsOf, type DefinitionFacts } from "../../core/definition";
import { visible } from "../../kit/JsonView";
import { Section } from "../../kit/Page";
import { ErrorState, Loading } from "../../kit/States";
import { StatusBadge } from "../../kit/StatusBadge";
import styles from "./detail.module.css";
import { eventsHref, scheduleHref, schedulesHref, taskHref, workflowHref } from "./links";

/** How many definitions are looked through for callers. */
const MOST_READ = 2_000;

/** Who starts it, and what it needs itself. */
export function UsesTab({ id, facts }: { id: string; facts: DefinitionFacts }) {
  const list = useList("/api/v1/workflows", { query: { include: "definition" } });
  useEffect(() => {
    if (list.hasMore && list.items.length < MOST_READ) list.readMore();
  });
  const mayReadSchedules = useMay("schedules:read");
  const hasSchedules = useHas("schedules") && mayReadSchedules;
  const schedules = useQuery({ ...read("/api/v1/schedules", { query: { workflowId: id, limit: 50 } }), enabled: hasSchedules });
  const others = useMemo(() => list.items.map((item) => ({ id: item.id, facts: factsOf(item.definition) })), [list.items]);
  const parents = others.flatMap((other) => other.facts.calls.filter(({ workflow }) => workflow === id).map(({ step }) => ({ workflow: other.id, step })));
  const starts = facts.events.filter(({ does }) => does === "starts");
  const isReading = list.hasMore && list.items.length < MOST_READ;
  if (list.isPending) return <Loading label="Loading definitions" />;
  if (list.error !== null && list.items.length === 0) return <ErrorState error={list.error} onRetry={list.refresh} />;
  return (
    <div className={styles["scroll"]}>
      <Section title="Parents that call it">
        <List none={isReading ? "Reading on…" : `None of the ${list.items.length} newest definitions calls it.`}>
          {parents.map(({ workflow, step }) => (
            <li key={`${workflow} ${step}`}>
              <Link href={workflowHref(workflow)}>{workflow}</Link> <span className={styles["muted"]}>at step</span> <Link href={`${workflowHref(workflow)}?step=${encodeURIComponent(step)}`}>{step}</Link>
            </li>
          ))}
        </List>
      </Section>
      {hasSchedules && (
        <Section title="Schedules that start it">
          {schedules.data === undefined ? (
            schedules.error === null ? <Loading label="Loading schedules" /> : <ErrorState isInline error={schedules.error} onRetry={() => void schedules.refetch()} />
          ) : (
            <List none="None.">
              {schedules.data.items.map((schedule) => (
                <li key={schedule.id}>
                  <Link href={scheduleHref(schedule.id)}>{visible(schedule.name || schedule.id)}</Link> <span className={styles["muted"]}>{visible(schedule.inWords)}</span>{" "}
                  {schedule.status !== "active" && <StatusBadge status={schedule.status} look="plain" />}
                </li>
              ))}
            </List>
          )}
          {schedules.data?.nextCursor != null && <Link href={schedulesHref(id)}>All schedules of it</Link>}
        </Section>
      )}
      <Section title="Events that start it">
        <List none="None: it is started by calls, schedules and parents.">
          {starts.map((use, place) => {
            const publishers = others.filter((other) => other.facts.events.some((each) => each.does === "publishes" && each.pattern === use.pattern));
            return (
              <li key={place}>
                <Link href={eventsHref(use.pattern)}>
                  <code>{use.pattern}</code>
                </Link>
                {use.condition !== null && <code className={styles["condition"]}>{use.condition}</code>}
                {publishers.length > 0 && <span className={styles["muted"]}> published by {publishers.map((each) => each.id).join(", ")}</span>}
              </li>
            );
          })}
        </List>
      </Section>
      <Section title="Workflows that it calls">
        <List none="None.">
          {facts.calls.map(({ step, workflow }) => (
            <li key={step}>
              <Link href={workflowHref(workflow)}>{workflow}</Link> <span className={styles["muted"]}>at step {step}</span>
            </li>
          ))}
        </List>
      </Section>
      <Section title="Tasks that it needs">
        <List none="None.">
          {facts.tasks.map((task) => (
            <li key={task}>
              <Link href={taskHref(task)}>
                <code>{task}</code>
              </Link>
            </li>
          ))}
        </List>
      </Section>
    </div>
  );
}

function List({ none, children }: { none: string; children: ReactNode[] }) {
  return children.length === 0 ? <p className={styles["muted"]}>{none}</p> : <ul className={styles["list"]}>{children}</ul>;
}
