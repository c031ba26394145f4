import { FastForward, Send, Stamp } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "wouter";

import { useMay } from "../../../api/me";
import type { Activation } from "../../../core/fold";
import { counted, duration } from "../../../core/format";
import { counts } from "../../../core/iterations";
import { keyOf } from "../../../core/log";
import { outlineOf, flattened } from "../../../core/outline";
import { path } from "../../../core/url";
import { deadlineOf } from "../../../core/view";
import { Button } from "../../../kit/Button";
import { FailedParts } from "../../../kit/FailedParts";
import { visible } from "../../../kit/JsonView";
import { Duration, Moment } from "../../../kit/Moment";
import { useShared } from "../context";
import { SKIPPED } from "../model/boxes";
import { isInDelay, isTestRun } from "../model/testRuns";
import { SkipDelay } from "../SkipDelay";
import { shortId } from "../../../core/ids";
import styles from "../styles.module.css";

/** A step at a glance: times, ways, joins, waits, children, and what can be done with it. */
export function Summary({ step, node }: { step: string; node: Activation | undefined }) {
  const { plan, shown, now, isFolded, select, open, waits, selection } = useShared();
  const mayStart = useMay("instances:start");
  const mayDecide = useMay("instances:decide");
  const mayPublish = useMay("events:publish");
  const planned = plan.nodes.get(step);
  const item = flattened(outlineOf(plan.graph)).find((each) => each.id === step);
  const iteration = node?.iteration ?? "";
  const join = shown.joins.get(keyOf(step, iteration));
  const stored = shown.loops.get(keyOf(step, iteration));
  const loop = stored && counts(plan, shown, stored);
  const open_ = waits.filter((wait) => wait.stepId === step && wait.iteration === iteration);
  const isNow = selection.at === null;
  const rows: [string, ReactNode][] = [];
  if (planned?.node.description) rows.push(["About", visible(planned.node.description)]);
  if (node === undefined) rows.push(["State", planned?.loop !== null && planned !== undefined && !isFolded ? "The log was not read far enough to show iterations." : "It has not begun."]);
  if (node?.startedAt) rows.push(["Began", <Moment key="b" at={node.startedAt} />]);
  if (node?.startedAt && node.completedAt) rows.push(["Took", <Duration key="t" from={node.startedAt} to={node.completedAt} />]);
  else if (node?.startedAt && isNow) rows.push(["For", <Duration key="f" from={node.startedAt} />]);
  if (node && node.attempts.length > 0) rows.push(["Attempts", `${node.attempts.length}${node.failures > 0 ? `, ${counted(node.failures, "failure")}` : ""}${node.losses > 0 ? `, ${counted(node.losses, "loss", "losses")}` : ""}`]);
  if (node?.executionTime != null) rows.push(["Ran", duration(node.executionTime)]);
  if (node?.queueTime != null) rows.push(["Queued", duration(node.queueTime)]);
  if (node && (node.worker !== null || node.executionTime !== null)) rows.push(["Worker", node.worker === null ? "in process" : <code key="w">{visible(node.worker)}</code>]);
  if (node?.dueAt) rows.push([node.status === "RETRYING" ? "Next try" : "Due", <Moment key="d" at={node.dueAt} />]);
  if (node && node.skippedBecause) rows.push(["Skipped", SKIPPED[node.skippedBecause] ?? node.skippedBecause]);
  if (node?.reusedFrom) rows.push(["Taken over from", <Link key="r" href={path("instances", node.reusedFrom)}>{shortId(node.reusedFrom)}</Link>]);
  if (node?.wait) rows.push(["Waits for", visible(node.wait.pattern || node.wait.arms.map((arm) => arm.pattern).join(", "))]);
  if (node?.approval) rows.push(["Decided by", visible([...node.approval.users, ...node.approval.roles.map((role) => `role ${role}`)].join(", "))]);
  const timeout = node === undefined ? null : deadlineOf(shown, node);
  if (timeout !== null && node?.completedAt === null) rows.push(["Times out", <Moment key="o" at={timeout} />]);
  if (node && node.handles.length > 0 && node.handles.some((handle) => handle !== "default")) rows.push(["Went", visible(node.handles.join(", "))]);
  if (loop) rows.push(["Iterations", `${loop.started} of ${loop.length ?? "?"} begun, ${loop.succeeded} done, ${loop.failed} failed${loop.skipped > 0 ? `, ${loop.skipped} skipped` : ""}`]);
  if (join) {
    const late = (planned?.incoming ?? []).map((edge) => edge.source).filter((source) => !join.arrivals.some((arrival) => arrival.from === source));
    const missing = [...new Set(late)].map((source) => {
      const status = shown.activations.get(keyOf(source, iteration))?.status;
      return status === "FAILED" || status === "CANCELLED" ? `${source} (${status.toLowerCase()})` : source;
    });
    rows.push(["Join", `arrived ${join.taken} of ${join.edges}${join.dead > 0 ? `, ${join.dead} not taken` : ""}${join.firedAt === null && missing.length > 0 ? `; missing ${missing.join(", ")}` : ""}`]);
  }
  if (item && item.join !== null) rows.push(["Needs", item.join === "all" ? "all of its ways" : item.join === "any" ? "any of its ways" : `${item.join} of its ways`]);
  for (const child of node?.children ?? []) rows.push(["Child", <Link key={child} className={styles["mono"]} href={path("instances", child)}>{shortId(child)}</Link>]);
  if (item && item.undoneBy.length > 0) rows.push(["Undone by", visible(item.undoneBy.join(", "))]);
  const goes = item?.then ?? [];
  return (
    <div className={styles["form"]}>
      <dl className={styles["rows"]}>
        {rows.map(([name, value], place) => (
          <div key={`${name} ${place}`}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
        {goes.length > 0 && (
          <div>
            <dt>Then</dt>
            <dd>
              {goes.map((link) => (
                <button key={link.edge} type="button" className={styles["stepLink"]} onClick={() => select({ step: link.step, iteration: "", attempt: null, entry: null, part: "summary" })}>
                  {visible(link.label === "" ? link.step : `${link.step} (${link.label})`)}
                </button>
              ))}
            </dd>
          </div>
        )}
      </dl>
      {isNow &&
        open_.map((wait) => (
          <div key={wait.armId} className={styles["form"]}>
            {wait.eventCondition !== null && <code className={styles["block"]}>{visible(wait.eventCondition)}</code>}
            {wait.approval !== null && mayDecide && (
              <Button look="primary" icon={<Stamp />} onClick={() => open({ kind: "decide", step, iteration })}>
                Decide
              </Button>
            )}
            {wait.eventPattern !== null && !wait.eventPattern.includes("*") && mayPublish && (
              <Button icon={<Send />} onClick={() => open({ kind: "publish", step, iteration, pattern: wait.eventPattern ?? "" })}>
                Send {visible(wait.eventPattern)}
              </Button>
            )}
            {wait.nearMisses.length > 0 && (
              <>
                <h3>{counted(wait.nearMisses.length, "event")} came near</h3>
                {wait.nearMisses.slice(0, 5).map((near) => (
                  <div key={near.eventId}>
                    <span className={styles["muted"]}>
                      <code>{visible(near.eventId)}</code> <Moment at={near.at} />
                    </span>
                    <FailedParts failed={near.failed} />
                  </div>
                ))}
              </>
            )}
          </div>
        ))}
      {isNow && node !== undefined && isInDelay(node) && <SkipDelay step={step} iteration={iteration} />}
      {mayStart && planned !== undefined && planned.loop === null && !isTestRun(now.definitionId) && (
        <div>
          <Button icon={<FastForward />} onClick={() => open({ kind: "rerun", from: step })}>
            Rerun from here
          </Button>
        </div>
      )}
    </div>
  );
}
