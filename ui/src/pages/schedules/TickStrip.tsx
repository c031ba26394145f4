import { Link } from "wouter";

import { exactUtc } from "../../core/format";
import { tickStatus, tickSummary, tickWords, type Tick } from "../../core/schedule";
import { path } from "../../core/url";
import { classes } from "../../kit/classes";
import { statusLook } from "../../kit/status";
import styles from "./styles.module.css";

/** What became of ticks, a mark each, the newest at the right; a mark leads to the instance that it started. */
export function TickStrip({ label, ticks, statuses }: { label: string; ticks: readonly Tick[]; statuses?: ReadonlyMap<string, string> }) {
  if (ticks.length === 0) return <span className={styles["muted"]}>None yet</span>;
  return (
    <span className={styles["strip"]}>
      <span className="hidden-text">{`${label}: ${tickSummary(ticks)}`}</span>
      {[...ticks].reverse().map((tick) => {
        const { tone, word } = statusLook(tickStatus(tick, statuses?.get(tick.instanceId ?? "")));
        const words = `${exactUtc(Date.parse(tick.nominal))}: ${tickWords(tick)}${tick.outcome === "started" && statuses?.has(tick.instanceId ?? "") === true ? `, ${word.toLowerCase()}` : ""}`;
        const mark = classes(styles["mark"], styles[tone], tick.outcome !== "started" && styles["notStarted"]);
        const key = `${tick.nominal} ${tick.cause ?? ""}`;
        return tick.instanceId == null ? (
          <span key={key} className={styles["place"]} title={words}>
            <i className={mark} aria-hidden />
          </span>
        ) : (
          <Link key={key} href={path("instances", tick.instanceId)} className={styles["place"]} title={words} aria-label={words}>
            <i className={mark} aria-hidden />
          </Link>
        );
      })}
    </span>
  );
}
