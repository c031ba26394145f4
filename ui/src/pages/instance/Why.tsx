import { FastForward, Play, RotateCcw, Send, Stamp } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Link } from "wouter";

import { basePath } from "../../api/base";
import { useMay, useMe } from "../../api/me";
import { endWord, remediesOf, type Cause, type Remedy } from "../../core/explain";
import { counted } from "../../core/format";
import { asText } from "../../core/json";
import { keyOf } from "../../core/log";
import { path } from "../../core/url";
import { Button } from "../../kit/Button";
import { classes } from "../../kit/classes";
import { meaningOf } from "../../api/failures";
import { visible } from "../../kit/JsonView";
import { Moment } from "../../kit/Moment";
import { Prose } from "../../kit/Prose";
import { statusLook } from "../../kit/status";
import { StatusMark } from "../../kit/StatusBadge";
import { Command } from "./Command";
import { useShared } from "./context";
import { useResume } from "./useResume";
import { SkipDelay } from "./SkipDelay";
import { NearMisses } from "./NearMisses";
import styles from "./styles.module.css";

/** Causes that are shown without being asked for. */
const FEW = 3;

/** The one sentence: why it is not moving, and what can be done about it. */
export function Why() {
  const { explanation, now } = useShared();
  const [isOpen, setIsOpen] = useState(false);
  const tone = statusLook(now.status).tone;
  const [first, ...others] = explanation?.causes ?? [];
  if (first === undefined) return <div className={classes(styles["why"], styles[tone])} aria-busy />;
  const remedies = remediesOf({ summary: "", causes: explanation?.causes ?? [] });
  const shown = isOpen ? others : others.slice(0, FEW - 1);
  return (
    <section className={classes(styles["why"], styles[tone])} aria-label="Why it stands where it stands">
      <Line cause={first} remedy={remedies.find((remedy) => remedy.cause === first) ?? innerRemedy(remedies, first)} isMain />
      {shown.map((cause) => (
        <Line key={`${cause.kind} ${cause.stepId} ${cause.iteration} ${cause.message}`} cause={cause} remedy={remedies.find((remedy) => remedy.cause === cause) ?? null} />
      ))}
      {others.length > shown.length && (
        <Button look="quiet" onClick={() => setIsOpen(true)}>
          {counted(others.length - shown.length, "more cause")}
        </Button>
      )}
    </section>
  );
}

/** Of causes inside the main one, such as the wait of a paused instance, none is offered before the pause ends. */
const innerRemedy = (remedies: readonly Remedy[], cause: Cause): Remedy | null =>
  cause.kind === "loop" || cause.kind === "ending" ? (remedies.find(({ kind }) => kind !== "schedule") ?? null) : null;

function Line({ cause, remedy, isMain = false }: { cause: Cause; remedy: Remedy | null; isMain?: boolean }) {
  const { select, now } = useShared();
  const advice = asText(cause.details["advice"]);
  const code = cause.kind === "failed" ? (now.lastError?.code ?? null) : null;
  const meaning = code === null ? null : meaningOf(code);
  const { stepId, iteration } = cause;
  const inner = cause.causes.filter((each) => each.message !== "").slice(0, FEW);
  return (
    <div className={classes(styles["cause"], isMain && styles["mainCause"])}>
      <div className={styles["sentence"]}>
        {isMain && <StatusMark status={now.status} />}
        <p>
          {stepId !== null && (
            <button type="button" className={styles["stepLink"]} onClick={() => select({ step: stepId, iteration, attempt: null, entry: null })}>
              {visible(keyOf(stepId, iteration))}
            </button>
          )}
          {stepId !== null && " "}
          <span>{sentence(cause)}</span>
          {cause.since !== null && cause.until === null && (
            <span className={styles["muted"]}>
              {" "}
              {now.completedAt === null && cause.kind !== "schedule" ? "since" : "at"} <Moment at={cause.since} />
            </span>
          )}
          {cause.until !== null && (
            <span className={styles["muted"]}>
              ; {endWord(cause.kind)} <Moment at={cause.until} />
            </span>
          )}
        </p>
        {remedy !== null && <RemedyButton remedy={remedy} isMain={isMain} />}
        {(cause.kind === "timer" || cause.kind === "working-time") && stepId !== null && <SkipDelay step={stepId} iteration={iteration} look={isMain ? "primary" : "plain"} />}
      </div>
      {(advice !== null || meaning !== null) && (
        <p className={styles["advice"]}>
          <Prose text={[meaning?.explanation, advice].filter(Boolean).join(" ")} />
        </p>
      )}
      {cause.kind === "worker" && <WorkerHint task={asText(cause.details["taskId"])} />}
      {cause.kind === "event" && <NearMisses cause={cause} />}
      {inner.map((each) => (
        <div key={`${each.kind} ${each.stepId} ${each.iteration} ${each.message}`} className={styles["inner"]}>
          <Line cause={each} remedy={null} />
        </div>
      ))}
    </div>
  );
}

/** The message as the service says it, with a capital where no step comes before; a step that does is what "it" is. */
function sentence({ message, stepId }: Cause): string {
  const text = visible(message);
  return stepId === null ? text.charAt(0).toUpperCase() + text.slice(1) : text.replace(/^it (?=has |is |was )/, "");
}

const ICONS: Partial<Record<Remedy["kind"], ReactNode>> = {
  publish: <Send />,
  decide: <Stamp />,
  resume: <Play />,
  retry: <RotateCcw />,
  release: <RotateCcw />,
};

function RemedyButton({ remedy, isMain }: { remedy: Remedy; isMain: boolean }) {
  const { open, select } = useShared();
  const mayControl = useMay("instances:control");
  const mayStart = useMay("instances:start");
  const mayDecide = useMay("instances:decide");
  const mayPublish = useMay("events:publish");
  const mayReadSchedules = useMay("schedules:read");
  const look = isMain ? "primary" : "plain";
  const button = (run: () => void, label: string = remedy.label) => (
    <Button look={look} icon={ICONS[remedy.kind]} onClick={run}>
      {label}
    </Button>
  );
  switch (remedy.kind) {
    case "publish":
      return mayPublish ? button(() => open({ kind: "publish", step: remedy.cause.stepId ?? "", iteration: remedy.cause.iteration, pattern: remedy.pattern })) : null;
    case "decide":
      return mayDecide ? button(() => open({ kind: "decide", step: remedy.step, iteration: remedy.iteration })) : null;
    case "resume":
      return mayControl ? <ResumeButton look={look} /> : null;
    case "retry":
      // What cannot be retried can be run again.
      if (remedy.cause.details["canRetry"] === false) {
        return mayStart ? (
          <Button look={look} icon={<FastForward />} onClick={() => open({ kind: "rerun", from: remedy.cause.stepId })}>
            Rerun from here
          </Button>
        ) : null;
      }
      return mayControl ? button(() => open({ kind: "retry" })) : null;
    case "release":
      return mayControl ? button(() => open({ kind: "retry" })) : null;
    case "child":
      return (
        <Link href={path("instances", remedy.childId)} className={styles["linkButton"]}>
          {remedy.label}
        </Link>
      );
    case "queue":
      return (
        <Link href="/queue" className={styles["linkButton"]}>
          {remedy.label}
        </Link>
      );
    case "schedule":
      return mayReadSchedules ? (
        <Link href={path("schedules", remedy.scheduleId)} className={styles["linkButton"]}>
          {remedy.label}
        </Link>
      ) : null;
    case "compensation":
      return button(() => select({ tab: "compensation" }));
    case "workers":
    case "tasks":
      return null;
  }
}

/** The command that brings a worker, where none takes the task. */
function WorkerHint({ task }: { task: string | null }) {
  const me = useMe();
  const server = `${window.location.origin}${basePath}`;
  return (
    <div className={styles["hint"]}>
      <span>Start a worker that has the task {task === null ? "" : <code>{visible(task)}</code>}:</span>
      <Command text={`${me?.signIn.isRequired === true ? "TENUTO_KEY=… " : ""}tenuto worker tasks.py --server ${server}`} />
    </div>
  );
}

function ResumeButton({ look }: { look: "primary" | "plain" }) {
  const resume = useResume();
  return (
    <Button look={look} icon={<Play />} isPending={resume.isPending} onClick={() => resume.mutate()}>
      Resume
    </Button>
  );
}
