import { useId, useState, type KeyboardEvent, type PointerEvent, type ReactNode } from "react";

import { Moment } from "./Moment";
import styles from "./Chart.module.css";
import type { Tone } from "./status";

export interface Series {
  name: string;
  tone: Tone;
  /** null: there is no value at this point. */
  values: readonly (number | null)[];
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
    <Chart {...props} whole={sum} most={most} placeOf={(share) => Math.floor(share * at.length)} xOf={(place) => (place + 0.5) * step}>
      {at.map((moment, place) => {
        let top = height;
        return (
          <g key={moment}>
            {series.map((each) => {
              const size = ((each.values[place] ?? 0) / most) * (height - 2);
              top -= size;
              return size === 0 ? null : <rect key={each.name} x={place * step} y={top} width={Math.max(step - 1, 0.5)} height={size} style={{ fill: `var(--${each.tone})` }} />;
            })}
          </g>
        );
      })}
    </Chart>
  );
}

/** Lines over time, such as percentiles; where there is no value there is no line. */
export function Spark(props: Props) {
  const { at, series, height = 64 } = props;
  const most = Math.max(1e-9, ...series.flatMap((each) => each.values.map((value) => value ?? 0)));
  const step = WIDTH / Math.max(at.length - 1, 1);
  return (
    <Chart {...props} whole={newest} most={most} placeOf={(share) => Math.round(share * (at.length - 1))} xOf={(place) => place * step}>
      {series.map((each) => (
        <g key={each.name} style={{ stroke: `var(--${each.tone})` }}>
          {runs(each.values).map(({ from, values }) => (
            <polyline key={from} className={styles["line"]} points={pointsOf(from, values).map(([place, value]) => `${place * step},${height - 1 - (value / most) * (height - 4)}`).join(" ")} />
          ))}
        </g>
      ))}
    </Chart>
  );
}

/** The corners of a line; one point alone is a short line, which can be seen. */
const pointsOf = (from: number, values: readonly number[]): [place: number, value: number][] =>
  values.length === 1 ? [-0.5, 0.5].map((aside) => [from + aside, values[0] as number]) : values.map((value, place) => [from + place, value]);

/** The values without gaps between them, each with where it begins. */
export function runs(values: readonly (number | null)[]): { from: number; values: number[] }[] {
  const found: { from: number; values: number[] }[] = [];
  values.forEach((value, place) => {
    if (value === null) return;
    const last = found.at(-1);
    if (last !== undefined && last.from + last.values.length === place) last.values.push(value);
    else found.push({ from: place, values: [value] });
  });
  return found;
}

const sum = (values: readonly (number | null)[]): number => values.reduce<number>((all, value) => all + (value ?? 0), 0);
const newest = (values: readonly (number | null)[]): number | null => values.findLast((value) => value !== null) ?? null;

interface Drawn extends Props {
  /** The number that stands for a series while no point of it is looked at. */
  whole: (values: readonly (number | null)[]) => number | null;
  most: number;
  placeOf: (share: number) => number;
  xOf: (place: number) => number;
  children: ReactNode;
}

function Chart({ label, at, series, format = String, height = 64, whole, most, placeOf, xOf, children }: Drawn) {
  const [isTable, setIsTable] = useState(false);
  const [looked, setLooked] = useState<number | null>(null);
  const id = useId();
  const last = at.length - 1;
  const place = looked === null ? last : Math.min(looked, last);
  const said = (value: number | null | undefined): string => (value === null || value === undefined ? "–" : format(value));
  const press = (event: KeyboardEvent) => {
    const next = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: last }[event.key];
    if (event.key === "Escape") setLooked(null);
    if (next === undefined) return;
    event.preventDefault();
    setLooked(Math.min(Math.max(next, 0), last));
  };
  const point = (event: PointerEvent) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    setLooked(Math.min(Math.max(placeOf((event.clientX - left) / Math.max(width, 1)), 0), last));
  };
  const moment = at[place];
  const words = `${moment === undefined ? "" : new Date(moment).toLocaleTimeString()}: ${series.map((each) => `${each.name} ${said(each.values[place])}`).join(", ")}`;
  return (
    <figure className={styles["chart"]} aria-labelledby={id}>
      <figcaption id={id} className={styles["caption"]}>
        <span className={styles["title"]}>{label}</span>
        <span className={styles["legend"]}>
          {series.map((each) => (
            <span key={each.name}>
              <i style={{ background: `var(--${each.tone})` }} aria-hidden /> {each.name} <b>{said(looked === null ? whole(each.values) : each.values[place])}</b>
            </span>
          ))}
        </span>
        <button type="button" className={styles["switch"]} aria-pressed={isTable} aria-label={`${label} as a table`} onClick={() => setIsTable(!isTable)}>
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
              {at.map((each, row) => (
                <tr key={each}>
                  <th scope="row">
                    <Moment at={each} />
                  </th>
                  {series.map(({ name, values }) => (
                    <td key={name}>{said(values[row])}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <div className={styles["plot"]}>
          {/* Arrow keys walk along the points, and what each has is read out. */}
          <div className={styles["walk"]} role="slider" tabIndex={0} aria-label={`${label}, point`} aria-valuemin={0} aria-valuemax={Math.max(last, 0)} aria-valuenow={Math.max(place, 0)} aria-valuetext={words} onKeyDown={press} onBlur={() => setLooked(null)} onPointerMove={point} onPointerLeave={() => setLooked(null)}>
            <svg viewBox={`0 0 ${WIDTH} ${height}`} preserveAspectRatio="none" height={height} aria-hidden>
              {children}
              {looked !== null && <line className={styles["cursor"]} x1={xOf(place)} x2={xOf(place)} y1={0} y2={height} />}
            </svg>
          </div>
          <div className={styles["axis"]} aria-hidden>
            <span>{at[0] === undefined ? "" : <Moment at={looked === null ? at[0] : (moment as number)} />}</span>
            <span>{looked === null ? `most ${format(most)}` : ""}</span>
          </div>
        </div>
      )}
    </figure>
  );
}
