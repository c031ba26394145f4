import { exactUtc, moment } from "../../core/format";
import type { Shape } from "../../api/types";
import { visible } from "../../kit/JsonView";
import { useNow } from "../../kit/Moment";
import styles from "./styles.module.css";

type Coming = Shape<"PreviewedTick">;

/** The next times, in the zone of the schedule and in the viewer's; those that are skipped with the reason. */
export function PreviewList({ items, timezone }: { items: readonly Coming[]; timezone: string | null | undefined }) {
  const now = useNow(60_000);
  if (items.length === 0) return <p className={styles["muted"]}>No time comes any more.</p>;
  return (
    <ol className={styles["times"]} aria-label="Next times">
      {items.map((item) => {
        const at = Date.parse(item.at);
        const isMoved = item.skipped == null && item.at !== item.nominal;
        return (
          <li key={item.nominal} className={item.skipped == null ? undefined : styles["struck"]}>
            <time dateTime={item.nominal} title={`${exactUtc(Date.parse(item.nominal))}, in your zone ${moment(Date.parse(item.nominal), "local", now)}`}>
              {inZone(item.nominal, timezone)}
            </time>
            {item.skipped != null && <span className={styles["reason"]}> skipped: {visible(item.skipped)}</span>}
            {isMoved && <span className={styles["muted"]}> starts {inZone(new Date(at).toISOString(), timezone)}</span>}
          </li>
        );
      })}
    </ol>
  );
}

/** "Mon 5 Oct 2026, 09:00" in a zone; a zone that the browser does not know is UTC. */
export function inZone(at: string, timezone: string | null | undefined): string {
  const ms = Date.parse(at);
  const hasSeconds = ms % 60_000 !== 0;
  const format = (timeZone: string) =>
    new Intl.DateTimeFormat("en-GB", {
      timeZone,
      weekday: "short",
      day: "numeric",
      month: "short",
      year: "numeric",
      hour: "2-digit",
      minute: "2-digit",
      ...(hasSeconds ? { second: "2-digit" } : {}),
      timeZoneName: "shortOffset",
    }).format(ms);
  try {
    return format(timezone ?? "UTC");
  } catch {
    return format("UTC");
  }
}
