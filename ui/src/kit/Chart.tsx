import { useId, useState } from "react";

import { Moment } from "./Moment";
import styles from "./Chart.module.css";
import type { Tone } from "./status";

export interface Series {
  name: string;
  tone: Tone;
  values: readonly number[];
}

interface Props {
  label: string;
  /** The moment of each point. */
  at: readonly number[];
  series: readonly Series[];
  format?: (value: number) => string;
  height?: number;
}

const WIDTH = 300;

/** Bars of counts per point, stacked by series; "Table" shows the same numbers. */
export function Bars(props: Props) {
  const { at, series, height = 64 } = props;
  const most = Math.max(1, ...at.map((_, place) => series.reduce((sum, each) => sum + (each.values[place] ?? 0), 0)));
  const step = WIDTH / Math.max(at.length, 1);
  return (
    <Chart {...props}>
      {at.map((moment, place) => {
        let top = height;
        return (
          <g key={moment}>
            {series.map((each) => {
              const size = ((each.values[place] ?? 0) / most) * (height - 2);
              top -= size;
              return <rect key={each.name} x={place * step} y={top} width={Math.max(step - 1, 0.5)} height={size} style={{ fill: `var(--${each.tone})` }} />;
            })}
          </g>
        );
      })}
    </Chart>
  );
}

/** Lines over time, such as percentiles. */
export function Spark(props: Props) {
  const { at, series, height = 64 } = props;
  const most = Math.max(1e-9, ...series.flatMap((each) => each.values));
  const step = WIDTH / Math.max(at.length - 1, 1);
  return (
    <Chart {...props}>
      {series.map((each) => (
        <polyline
          key={each.name}
          className={styles["line"]}
          style={{ stroke: `var(--${each.tone})` }}
          points={each.values.map((value, place) => `${place * step},${height - 1 - (value / most) * (height - 4)}`).join(" ")}
        />
      ))}
    </Chart>
  );
}

function Chart({ label, at, series, format = String, height = 64, children }: Props & { children: React.ReactNode }) {
  const [isTable, setIsTable] = useState(false);
  const id = useId();
  const latest = series.map((each) => `${each.name} ${format(each.values.at(-1) ?? 0)}`).join(", ");
  return (
    <figure className={styles["chart"]} aria-labelledby={id}>
      <figcaption id={id} className={styles["caption"]}>
        <span className={styles["title"]}>{label}</span>
        <span className={styles["legend"]}>
          {series.map((each) => (
            <span key={each.name}>
              <i style={{ background: `var(--${each.tone})` }} aria-hidden /> {each.name} <b>{format(each.values.at(-1) ?? 0)}</b>
            </span>
          ))}
        </span>
        <button type="button" className={styles["switch"]} aria-pressed={isTable} onClick={() => setIsTable(!isTable)}>
          Table
        </button>
      </figcaption>
      {isTable ? (
        <div className={styles["scroll"]} tabIndex={0} role="group" aria-label={`${label}, table`}>
          <table>
            <thead>
              <tr>
                <th scope="col">Time</th>
                {series.map((each) => (
                  <th key={each.name} scope="col">
                    {each.name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {at.map((moment, place) => (
                <tr key={moment}>
                  <th scope="row">
                    <Moment at={moment} />
                  </th>
                  {series.map((each) => (
                    <td key={each.name}>{format(each.values[place] ?? 0)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <svg viewBox={`0 0 ${WIDTH} ${height}`} preserveAspectRatio="none" height={height} role="img" aria-label={`${label}: ${latest}`}>
          {children}
        </svg>
      )}
    </figure>
  );
}
