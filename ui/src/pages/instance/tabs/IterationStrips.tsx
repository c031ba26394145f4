import { ChevronLeft, ChevronRight } from "lucide-react";

import { count } from "../../../core/format";
import { settled } from "../../../core/iterations";
import { keyOf } from "../../../core/log";
import { IconButton } from "../../../kit/Button";
import { classes } from "../../../kit/classes";
import { StatusMark } from "../../../kit/StatusBadge";
import { useShared } from "../context";
import { stripsOf, type Strip } from "../model/iterations";
import styles from "../styles.module.css";

/** So many iterations around the one that is shown have a mark of their own. */
const AROUND = 12;

const STATUS: Record<string, string> = { running: "RUNNING", success: "COMPLETED", error: "FAILED", cancelled: "CANCELLED" };

/** Which iteration of each loop is shown; the first that failed, unless another one is chosen. */
export function IterationStrips() {
  const { plan, shown, selection } = useShared();
  const strips = stripsOf(plan, shown, selection);
  return strips.map((strip) => <OneStrip key={strip.loop.key} strip={strip} />);
}

function OneStrip({ strip: { loop, title, outside, shown: index } }: { strip: Strip }) {
  const { plan, shown, selection, select } = useShared();
  const choose = (next: number) => {
    const path = outside === "" ? String(next) : `${outside}/${next}`;
    // A step of the body stays selected in the other iteration; else its first step is.
    const body = plan.nodes.get(loop.step)?.body ?? [];
    const inside = selection.step !== null && body.includes(selection.step) ? selection.step : body[0];
    select({ step: inside ?? loop.step, iteration: inside === undefined ? outside : path, attempt: null, entry: null });
  };
  const at = index;
  const first = Math.max(0, Math.min(at - AROUND, loop.started - 2 * AROUND - 1));
  const marks = Array.from({ length: Math.min(loop.started - first, 2 * AROUND + 1) }, (_, place) => first + place);
  return (
    <div className={styles["strip"]} role="group" aria-label={`Iterations of ${title}`}>
      <b>{title}</b>
      <span className={styles["muted"]}>
        {count(loop.started - loop.active)} of {loop.length === null ? `${count(loop.started)} so far` : count(loop.length)}
        {loop.failed > 0 && `, ${count(loop.failed)} failed`}
      </span>
      <IconButton label="Previous iteration" icon={<ChevronLeft />} disabled={at <= 0} onClick={() => choose(at - 1)} />
      {marks.map((mark) => {
        const path = outside === "" ? String(mark) : `${outside}/${mark}`;
        const found = shown.iterations.get(keyOf(loop.step, path));
        const status = STATUS[found === undefined ? "" : settled(plan, shown, found).status] ?? "PENDING";
        return (
          <button
            key={mark}
            type="button"
            className={classes(styles["mark"], mark === index && styles["chosenMark"])}
            aria-pressed={mark === index}
            aria-label={`Iteration ${mark}, ${status.toLowerCase()}`}
            onClick={() => choose(mark)}
          >
            <StatusMark status={status} />
            {mark}
          </button>
        );
      })}
      <IconButton label="Next iteration" icon={<ChevronRight />} disabled={at >= loop.started - 1} onClick={() => choose(at + 1)} />
    </div>
  );
}
