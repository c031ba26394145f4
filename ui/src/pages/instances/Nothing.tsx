import { useQueries } from "@tanstack/react-query";
import { Link } from "wouter";

import { read } from "../../api/queries";
import { parseSearch, readSearch } from "../../core/search";
import { Button } from "../../kit/Button";
import { EmptyState } from "../../kit/States";
import { without } from "./Chips";
import styles from "./styles.module.css";

/** The filter finds nothing: which part of it excludes everything, and how to take that away. */
export function NothingFound({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  const { terms } = parseSearch(text);
  const others = terms
    .filter(({ qualifier }) => qualifier !== "is")
    .map(({ from, to }) => ({ label: text.slice(from, to), rest: without(text, from, to) }));
  const withChildren = terms.some(({ qualifier }) => qualifier === "is") ? [] : [{ label: "roots only", rest: `${text} is:any`.trim() }];
  const tried = useQueries({
    queries: [...withChildren, ...others].map(({ label, rest }) => ({
      ...read("/api/v1/instances", { query: { ...readSearch(rest, new Date()).params, limit: 1 } }),
      queryKey: ["without", rest],
      meta: { label },
    })),
    combine: (results) => results.map(({ data }) => (data?.items.length ?? 0) > 0),
  });
  const found = [...withChildren, ...others].filter((_, place) => tried[place] === true);
  return (
    <EmptyState
      title="No instance fits the filter"
      action={
        <div className={styles["remedies"]}>
          {found.map(({ label, rest }) => (
            <Button key={label} onClick={() => onChange(rest)}>
              Remove {label}
            </Button>
          ))}
          {terms.length > 0 && (
            <Button look="quiet" onClick={() => onChange("")}>
              Remove all filters
            </Button>
          )}
        </div>
      }
    >
      {found.length > 0 ? (
        <p>
          {found.length === 1 ? "This part excludes everything: " : "Each of these parts alone excludes everything: "}
          {found.map(({ label }, place) => (
            <span key={label}>
              {place > 0 && ", "}
              <code>{label}</code>
            </span>
          ))}
          .
        </p>
      ) : (
        <p>No single part excludes everything: several of them do together.</p>
      )}
    </EmptyState>
  );
}

/** Nothing was ever started. */
export function NothingYet() {
  return (
    <EmptyState title="No instance has been started yet" command="tenuto start order --input '{&quot;orderId&quot;: &quot;A1&quot;}'" action={<Link href="/">See what to try</Link>}>
      An instance appears here as soon as a workflow is started, by a call, an event or a schedule.
    </EmptyState>
  );
}
