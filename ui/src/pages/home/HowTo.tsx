import { Link } from "wouter";

import { CopyButton } from "../../kit/CopyButton";
import { Page } from "../../kit/Page";
import styles from "./HowTo.module.css";

const PARTS: readonly { title: string; text: React.ReactNode; command: string }[] = [
  {
    title: "Start an instance",
    text: (
      <>
        A <b>workflow</b> says which steps there are and what follows each. An <b>instance</b> is one execution of it, with its own input. It is stored before the answer to its start is given: from then on it
        reaches its end. <Link href="/instances">Instances</Link> lists them, newest first.
      </>
    ),
    command: `tenuto start order --input '{"orderId": "A1", "items": ["metronome"]}'`,
  },
  {
    title: "See why it does not move",
    text: "Every instance says in one sentence what it waits for: an event and its condition, a worker that is not there, the next attempt of a task, a decision. Below it are the graph, the timeline and the log.",
    command: "tenuto explain @last",
  },
  {
    title: "Let it go on",
    text: "The example order waits for the event payment.received of the same order. An event with another orderId is a near miss: the instance shows which part of its condition was false.",
    command: `tenuto events send payment.received '{"orderId": "A1", "id": "p-1", "amount": 12}'`,
  },
  {
    title: "End the service in the middle, and begin it again",
    text: "Press Ctrl C while an order waits, and begin the service again: the order is where it was. What a step did is in the log of the instance, and finished steps are never run again.",
    command: "make run",
  },
  {
    title: "Break a task, and mend it",
    text: "Change a task so that it fails and start an order: the attempts and their errors are on the page of the instance. Mend the task and retry: the instance continues from the step that failed.",
    command: "tenuto retry @last",
  },
];

/** The first five minutes, to be read beside a terminal. */
export default function HowToPage() {
  return (
    <Page title="The first five minutes" crumbs={[{ label: "Home", href: "/" }]}>
      <ol className={styles["parts"]}>
        {PARTS.map(({ title, text, command }) => (
          <li key={title}>
            <h2>{title}</h2>
            <p>{text}</p>
            <div className={styles["command"]}>
              <code>{command}</code>
              <CopyButton text={command} label="Copy command" />
            </div>
          </li>
        ))}
      </ol>
      <p className={styles["end"]}>
        Press <kbd>?</kbd> on any page for its keys, and <kbd>Ctrl K</kbd> to go anywhere. The API is described at <code>/docs</code> of this service.
      </p>
    </Page>
  );
}
