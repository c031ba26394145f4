import { useId, type InputHTMLAttributes, type ReactNode } from "react";

import styles from "./Field.module.css";

/** A labelled control with its help and its problem, which screen readers hear with it. */
export function Field({ label, help, problem, children }: { label: ReactNode; help?: ReactNode; problem?: ReactNode; children: (ids: { id: string; "aria-describedby": string; "aria-invalid": boolean }) => ReactNode }) {
  const id = useId();
  const hasProblem = problem !== undefined && problem !== null && problem !== "";
  return (
    <div className={styles["field"]}>
      <label htmlFor={id}>{label}</label>
      {children({ id, "aria-describedby": `${id}-help`, "aria-invalid": hasProblem })}
      <div id={`${id}-help`} className={styles["about"]}>
        {hasProblem ? <span className={styles["problem"]}>{problem}</span> : help}
      </div>
    </div>
  );
}

export function TextInput(props: InputHTMLAttributes<HTMLInputElement>) {
  return <input autoComplete="off" spellCheck={false} {...props} className={styles["input"]} />;
}
