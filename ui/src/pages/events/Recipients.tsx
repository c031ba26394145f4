import { Link } from "wouter";

import type { Correction } from "../../core/nearMiss";
import { recipientOf, type Recipient } from "../../core/eventReach";
import { FailedParts } from "../../kit/FailedParts";
import { StatusMark } from "../../kit/StatusBadge";
import { instanceHref, workflowHref } from "./links";
import styles from "./styles.module.css";

const DONE: Record<string, string> = { resumed: "Resumed", cancelled: "Cancelled", started: "Started", refused: "Refused" };
const WOULD: Record<string, string> = { resumed: "Would resume", cancelled: "Would cancel", started: "Would start", refused: "Would be refused by" };
const NEARLY: Record<string, string> = { resumed: "Nearly resumed", cancelled: "Nearly cancelled", started: "Nearly started" };
const MARKS: Record<string, string> = { resumed: "COMPLETED", cancelled: "CANCELLED", started: "COMPLETED", refused: "FAILED" };

/** What an event reached; of a dry run, what it would reach. */
export function Recipients({ given, isDry = false }: { given: readonly unknown[]; isDry?: boolean }) {
  const words = isDry ? WOULD : DONE;
  return (
    <ul className={styles["recipients"]}>
      {given.map(recipientOf).map((each, place) => (
        <li key={place}>
          <StatusMark status={MARKS[each.what] ?? ""} />
          <span>
            {words[each.what] ?? each.what} <Place {...each} />
            {each.reason !== null && <span className={styles["muted"]}>: {each.reason}</span>}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** What an event nearly reached, and which part of the condition was false. */
export function NearMisses({ given, onCorrect }: { given: readonly unknown[]; onCorrect?: (correction: Correction) => void }) {
  return (
    <ul className={styles["recipients"]}>
      {given.map(recipientOf).map((each, place) => (
        <li key={place} className={styles["near"]}>
          <span>
            {NEARLY[each.what] ?? `Nearly ${each.what}`} <Place {...each} />
          </span>
          <FailedParts failed={each.failed} {...(onCorrect === undefined ? {} : { onCorrect })} />
        </li>
      ))}
    </ul>
  );
}

function Place({ instance, step, iteration, arm, workflow }: Recipient) {
  return (
    <>
      {workflow !== null && <Link href={workflowHref(workflow)}>{workflow}</Link>}
      {workflow !== null && instance !== null && ": "}
      {instance !== null && (
        <Link href={instanceHref(instance, step ?? undefined)}>
          <code>{instance}</code>
        </Link>
      )}
      {step !== null && step !== "" && (
        <>
          {" at "}
          <code>
            {step}
            {iteration !== "" && `[${iteration}]`}
          </code>
        </>
      )}
      {arm !== null && ` (arm ${arm})`}
    </>
  );
}
