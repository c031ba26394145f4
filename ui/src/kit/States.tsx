import { RotateCw } from "lucide-react";
import { useEffect, useState, type ReactNode } from "react";

import { ApiProblem } from "../api/problem";
import { Button } from "./Button";
import { classes } from "./classes";
import { CopyButton } from "./CopyButton";
import { Prose } from "./Prose";
import styles from "./States.module.css";

/** Nothing to show: why, and the next step. */
export function EmptyState({ title, children, action, command }: { title: string; children?: ReactNode; action?: ReactNode; command?: string }) {
  return (
    <div className={styles["state"]}>
      <h2>{title}</h2>
      {children !== undefined && <div className={styles["why"]}>{children}</div>}
      {action}
      {command !== undefined && (
        <div className={styles["command"]}>
          <code>{command}</code>
          <CopyButton text={command} label="Copy command" />
        </div>
      )}
    </div>
  );
}

/** Something was refused or failed: what, its code, what to do, and the id of the request. */
export function ErrorState({ error, onRetry, isInline = false }: { error: unknown; onRetry?: () => void; isInline?: boolean }) {
  const problem = asProblem(error);
  return (
    <div className={classes(styles["error"], isInline && styles["inline"])} role="alert">
      <p className={styles["title"]}>
        {problem.code !== "" && <code className={styles["code"]}>{problem.code}</code>}
        {problem.title}
      </p>
      <p>
        <Prose text={problem.message} />
      </p>
      {problem.advice !== "" && (
        <p className={styles["advice"]}>
          <Prose text={problem.advice} />
        </p>
      )}
      {problem.problems.length > 0 && (
        <ul className={styles["problems"]}>
          {problem.problems.map((item) => (
            <li key={`${item.path} ${item.code} ${item.message}`}>
              <code>{item.path}</code> <Prose text={item.message} />{" "}
              <span className={styles["advice"]}>
                <Prose text={item.advice} />
              </span>
            </li>
          ))}
        </ul>
      )}
      <div className={styles["foot"]}>
        {onRetry !== undefined && (
          <Button icon={<RotateCw />} onClick={onRetry}>
            Try again
          </Button>
        )}
        {problem.requestId !== null && (
          <span className={styles["request"]}>
            Request <code>{problem.requestId}</code>
            <CopyButton text={detailsOf(problem)} label="Copy details" />
          </span>
        )}
      </div>
    </div>
  );
}

/** What a page shows while it reads: nothing at first, since most answers come at once. */
export function Loading({ label = "Loading" }: { label?: string }) {
  const [isLate, setIsLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsLate(true), 150);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className={styles["loading"]} role="status" aria-label={label}>
      {isLate && [72, 54, 63, 41].map((width) => <div key={width} className={styles["bone"]} style={{ width: `${width}%` }} />)}
    </div>
  );
}

export function asProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new ApiProblem(-1, {
    title: "This page has a bug",
    detail: message,
    advice: "Your data is safe: nothing was changed. Load the page again; if it comes back, report it with these words.",
  });
}

const detailsOf = (problem: ApiProblem): string =>
  [problem.code, problem.title, problem.message, problem.advice, `request ${problem.requestId ?? "unknown"}`, window.location.pathname]
    .filter(Boolean)
    .join("\n");
