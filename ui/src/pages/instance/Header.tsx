import { Link } from "wouter";

import { FINAL } from "../../core/state";
import { count } from "../../core/format";
import { path } from "../../core/url";
import { Duration, Moment } from "../../kit/Moment";
import { ProgressBar } from "../../kit/ProgressBar";
import { CopyButton } from "../../kit/CopyButton";
import { visible } from "../../kit/JsonView";
import { useShared } from "./context";
import { isTestRun } from "./model/testRuns";
import { progressOf } from "./model/boxes";
import { shortId } from "../../core/ids";
import styles from "./styles.module.css";
import { Why } from "./Why";

/** Why it stands where it stands, how far it is, and where it belongs. */
export function Header() {
  const { now, plan, isFolded, log, view } = useShared();
  const { parts, total } = progressOf(plan, now);
  const done = parts.filter(({ status }) => ["COMPLETED", "SKIPPED"].includes(status)).reduce((sum, part) => sum + part.count, 0);
  return (
    <div className={styles["header"]}>
      <Why />
      <dl className={styles["facts"]}>
        <div>
          <dt>Workflow</dt>
          <dd>
            {isTestRun(now.definitionId) ? (
              "a test run, of a definition that is not saved"
            ) : (
              <Link href={`${path("workflows", now.definitionId)}?version=${now.definitionVersion}`}>
                {visible(now.definitionId)} v{now.definitionVersion}
              </Link>
            )}
          </dd>
        </div>
        <div className={styles["progress"]}>
          <dt>Steps</dt>
          <dd>
            <ProgressBar label="Steps by status" parts={parts} total={total} />
            <span>
              {count(done)} of {count(total)}
            </span>
          </dd>
        </div>
        <div>
          <dt>{now.startedAt === null ? "Created" : "Started"}</dt>
          <dd>
            <Moment at={now.startedAt ?? now.createdAt} />
          </dd>
        </div>
        <div>
          <dt>{FINAL.has(now.status) ? "Took" : "For"}</dt>
          <dd>
            <Duration from={now.startedAt ?? now.createdAt} to={now.completedAt} />
          </dd>
        </div>
        {now.completedAt !== null && (
          <div>
            <dt>Ended</dt>
            <dd>
              <Moment at={now.completedAt} />
            </dd>
          </div>
        )}
        {now.correlationId !== null && (
          <div>
            <dt>Correlation id</dt>
            <dd className={styles["mono"]}>
              <span className={styles["cut"]}>{visible(now.correlationId)}</span>
              <CopyButton text={now.correlationId} label="Copy correlation id" />
            </dd>
          </div>
        )}
        {now.parent !== null && (
          <div>
            <dt>Child of</dt>
            <dd className={styles["mono"]}>
              <Link href={path("instances", now.parent.id)}>{shortId(now.parent.id)}</Link>
            </dd>
          </div>
        )}
        {now.schedule !== null && (
          <div>
            <dt>Started by schedule</dt>
            <dd>
              <span>
                <Link href={path("schedules", now.schedule.id)} className={styles["underlined"]}>
                  {visible(now.schedule.id)}
                </Link>{" "}
                for <Moment at={now.schedule.nominal} />
              </span>
            </dd>
          </div>
        )}
        {now.eventId !== null && (
          <div>
            <dt>Started by event</dt>
            <dd className={styles["mono"]}>
              <Link href={path("events", now.eventId)} className={styles["cut"]}>
                {visible(now.eventId)}
              </Link>
            </dd>
          </div>
        )}
        {now.rerunOf !== null && (
          <div>
            <dt>Rerun of</dt>
            <dd className={styles["mono"]}>
              <Link href={path("instances", now.rerunOf)}>{shortId(now.rerunOf)}</Link>
            </dd>
          </div>
        )}
        {now.deadline !== null && (
          <div>
            <dt>Deadline</dt>
            <dd>
              <Moment at={now.deadline} />
            </dd>
          </div>
        )}
        {now.priority !== 0 && (
          <div>
            <dt>Priority</dt>
            <dd>{now.priority}</dd>
          </div>
        )}
        {view !== undefined && view.tenant !== "default" && (
          <div>
            <dt>Tenant</dt>
            <dd>{visible(view.tenant)}</dd>
          </div>
        )}
        <div>
          <dt>Log</dt>
          <dd>
            {count(Math.max(now.version, log.length))}
            {!isFolded && log.isReadingAll && <span className={styles["muted"]}>, reading…</span>}
          </dd>
        </div>
      </dl>
    </div>
  );
}
