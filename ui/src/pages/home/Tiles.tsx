import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";

import { read } from "../../api/queries";
import { count } from "../../core/format";
import { link } from "../../core/url";
import { StatusMark } from "../../kit/StatusBadge";
import styles from "./styles.module.css";

const REFRESH_MS = 2_000;
const HOURS = 168;

const TILES = [
  { status: "RUNNING", name: "Running", q: "status:running is:any" },
  { status: "WAITING_FOR_EVENT", name: "Waiting for an event", q: "status:waiting_for_event is:any" },
  { status: "PAUSED", name: "Paused", q: "status:paused is:any" },
  { status: "FAILED", name: "Failed in a week", q: "status:failed is:any since:7d" },
] as const;

/** How many there are now; each leads to them. */
export function Tiles() {
  const { data } = useQuery({ ...read("/api/v1/stats", { query: { hours: HOURS } }), refetchInterval: REFRESH_MS });
  if (data === undefined) return null;
  return (
    <ul className={styles["tiles"]} aria-label="Now">
      {TILES.map(({ status, name, q }) => (
        <li key={status}>
          <Link href={link("/instances", new URLSearchParams({ q }))}>
            <span>
              <StatusMark status={status} /> {name}
            </span>
            <b>
              {count(data.byStatus[status] ?? 0)}
              {!data.isComplete && (data.byStatus[status] ?? 0) >= 10_000 ? "+" : ""}
            </b>
          </Link>
        </li>
      ))}
      <li>
        <Link href="/tasks">
          <span>
            <StatusMark status="QUEUED" /> Tasks in the queue
          </span>
          <b>{count(data.jobs.count)}</b>
        </Link>
      </li>
    </ul>
  );
}
