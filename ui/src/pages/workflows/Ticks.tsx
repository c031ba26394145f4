import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";

import { LIST_REFRESH_MS, read } from "../../api/queries";
import { classes } from "../../kit/classes";
import { statusLook } from "../../kit/status";
import { instancesHref } from "./links";
import styles from "./Ticks.module.css";

const MOST_TICKS = 20;

/** The last instances of a workflow, a tick each, the newest at the right; they lead to the list. */
export function Ticks({ workflow }: { workflow: string }) {
  const last = useQuery({
    ...read("/api/v1/instances", { query: { workflowId: workflow, limit: MOST_TICKS } }),
    refetchInterval: 2 * LIST_REFRESH_MS,
  });
  const items = last.data?.items ?? [];
  if (items.length === 0) return <span className={styles["none"]}>{last.isSuccess ? "None yet" : ""}</span>;
  return (
    <Link href={instancesHref(workflow)} className={styles["ticks"]} aria-label={`The last ${items.length} instances of ${workflow}: ${summary(items)}`}>
      {[...items].reverse().map(({ id, status }) => {
        const { word, tone } = statusLook(status);
        return <i key={id} className={classes(styles["tick"], styles[tone])} title={`${word} · ${id}`} />;
      })}
    </Link>
  );
}

/** "12 completed, 1 failed". */
function summary(items: readonly { status: string }[]): string {
  const counts = new Map<string, number>();
  for (const { status } of items) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} ${statusLook(status).word.toLowerCase()}`).join(", ");
}
