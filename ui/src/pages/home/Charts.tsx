import { useQuery } from "@tanstack/react-query";

import { read } from "../../api/queries";
import { count, duration } from "../../core/format";
import { Bars, Spark } from "../../kit/Chart";
import { Section } from "../../kit/Page";
import { ErrorState, Loading } from "../../kit/States";
import styles from "./styles.module.css";

const REFRESH_MS = 10_000;
const POINTS = 60;

/** Throughput, failures, latency, the queue and what is open, over the time that is shown. The queue is known since the service was started. */
export function Charts({ hours }: { hours: number }) {
  const query = useQuery({ ...read("/api/v1/stats/series", { query: { hours, points: POINTS } }), refetchInterval: REFRESH_MS, placeholderData: (before) => before });
  const series = query.data;
  const title = `The last ${hours === 1 ? "hour" : `${hours} hours`}`;
  if (series === undefined) {
    return <Section title={title}>{query.error === null ? <Loading label="Loading charts" /> : <ErrorState isInline error={query.error} onRetry={() => void query.refetch()} />}</Section>;
  }
  const { points } = series;
  const at = points.map((point) => Date.parse(point.at));
  const every = series.seconds === 60 ? "minute" : duration(series.seconds * 1_000);
  return (
    <Section title={title} actions={series.isComplete ? undefined : <span className={styles["partial"]}>Of each status the newest 10,000 instances are counted</span>}>
      <div className={styles["charts"]}>
        <Bars label={`Started, per ${every}`} at={at} format={count} series={[{ name: "started", tone: "blue", values: points.map((point) => point.started) }]} />
        <Bars
          label={`Ended, per ${every}`}
          at={at}
          format={count}
          series={[
            { name: "completed", tone: "green", values: points.map((point) => point.completed) },
            { name: "failed", tone: "red", values: points.map((point) => point.failed) },
            { name: "cancelled", tone: "slate", values: points.map((point) => point.cancelled) },
          ]}
        />
        <Bars
          label={`Failures, per ${every}`}
          at={at}
          format={count}
          series={[{ name: "failed", tone: "red", values: points.map((point) => point.failed) }]}
        />
        <Spark
          label="Time to completion"
          at={at}
          format={duration}
          series={[
            { name: "p50", tone: "green", values: points.map((point) => point.latency.p50) },
            { name: "p95", tone: "amber", values: points.map((point) => point.latency.p95) },
            { name: "p99", tone: "red", values: points.map((point) => point.latency.p99) },
          ]}
        />
        <Spark
          label="Tasks in the queue, at most"
          at={at}
          format={(value) => count(Math.round(value))}
          series={[{ name: "in the queue", tone: "blue", values: points.map((point) => point.queued ?? null) }]}
        />
        <Spark label="Open instances" at={at} format={(value) => count(Math.round(value))} series={[{ name: "open", tone: "violet", values: points.map((point) => point.open) }]} />
      </div>
    </Section>
  );
}
