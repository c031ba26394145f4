import type { Month } from "../../core/calendar";
import { counted } from "../../core/format";
import { classes } from "../../kit/classes";
import styles from "./styles.module.css";

const HEADS = [
  ["M", "Monday"],
  ["T", "Tuesday"],
  ["W", "Wednesday"],
  ["T", "Thursday"],
  ["F", "Friday"],
  ["S", "Saturday"],
  ["S", "Sunday"],
] as const;
const LEGEND = [
  ["working", "Working day"],
  ["off", "Not in the week"],
  ["holiday", "Holiday"],
  ["date", "Own day off"],
  ["short", "Other hours"],
] as const;

/** A year of twelve months: each day by what it is, with its name and hours on hover and for screen readers. */
export function YearView({ months }: { months: readonly Month[] }) {
  return (
    <>
      <ul className={styles["legend"]} aria-label="Legend">
        {LEGEND.map(([look, label]) => (
          <li key={look}>
            <i className={classes(styles["day"], styles[look])} aria-hidden /> {label}
          </li>
        ))}
      </ul>
      <div className={styles["year"]}>
        {months.map((month) => (
          <table key={month.id} className={styles["month"]}>
            <caption>
              {month.title} <span>{counted(month.workingDays, "working day")}</span>
            </caption>
            <thead>
              <tr>
                {HEADS.map(([short, long]) => (
                  <th key={long} scope="col" abbr={long}>
                    <span aria-hidden>{short}</span>
                    <span className="hidden-text">{long}</span>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {month.weeks.map((week, row) => (
                <tr key={row}>
                  {week.map((day, place) => (
                    <td key={place}>
                      {day !== null && (
                        <span className={classes(styles["day"], styles[day.look])} title={day.words}>
                          <span aria-hidden>{day.number}</span>
                          <span className="hidden-text">{day.words}</span>
                        </span>
                      )}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        ))}
      </div>
    </>
  );
}
