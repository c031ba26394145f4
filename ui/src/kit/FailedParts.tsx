import { correctionOf, failedParts, type Correction, type FailedPart } from "../core/nearMiss";
import { spelledPath } from "../core/form";
import type { Json } from "../core/json";
import { Button } from "./Button";
import styles from "./FailedParts.module.css";
import { visible } from "./JsonView";

/** Which parts of a condition were false for an event, with the two values that were compared. */
export function FailedParts({ failed, onCorrect }: { failed: unknown; /** Sets a value of the payload, where there is one to set. */ onCorrect?: (correction: Correction) => void }) {
  return (
    <ul className={styles["parts"]}>
      {failedParts(failed).map((part, place) => (
        <li key={place}>
          <code className={styles["expression"]}>{visible(part.expression)}</code>
          <span className={styles["why"]}>{part.error !== null ? part.error : part.operator === null ? "was false" : <Compared part={part} operator={part.operator} />}</span>
          {onCorrect !== undefined && <Correct part={part} onCorrect={onCorrect} />}
        </li>
      ))}
    </ul>
  );
}

function Compared({ part, operator }: { part: FailedPart; operator: string }) {
  return (
    <>
      was <Shown value={part.left} /> {operator} <Shown value={part.right} />
    </>
  );
}

/** Text keeps its quotes: "7" instead of 7 is the most common mistake. */
function Shown({ value }: { value: Json }) {
  const text = visible(JSON.stringify(value));
  return (
    <code className={styles["value"]} title={text}>
      {text.length > 80 ? `${text.slice(0, 79)}…` : text}
    </code>
  );
}

function Correct({ part, onCorrect }: { part: FailedPart; onCorrect: (correction: Correction) => void }) {
  const correction = correctionOf(part);
  if (correction === null) return null;
  return <Button onClick={() => onCorrect(correction)}>{`Set ${spelledPath(correction.path).slice(2)} to ${JSON.stringify(correction.value).slice(0, 40)}`}</Button>;
}
