import { Check, ChevronDown, ChevronRight } from "lucide-react";
import { Link } from "wouter";

import { asObject, asText } from "../../core/json";
import { classes } from "../../kit/classes";
import { visible } from "../../kit/JsonView";
import { Duration, Moment } from "../../kit/Moment";
import { StatusBadge } from "../../kit/StatusBadge";
import type { Column } from "../../kit/Table";
import { mayHaveChildren, waitingWords, type Known } from "./definitions";
import { firstErrorLine, type Instance } from "./exporting";
import type { InstanceRow, Row } from "./rows";
import styles from "./styles.module.css";
import type { Selection } from "./useSelection";

export const hrefOf = ({ id }: { id: string }): string => `/instances/${encodeURIComponent(id)}`;

interface Given {
  known: Known;
  rows: readonly Row[];
  /** null: nothing can be done with what is selected. */
  selection: Selection | null;
  onToggle: (id: string) => void;
}

/** What the rows have decides which columns there are: no space is kept for what no row has. */
export function columnsOf({ known, rows, selection, onToggle }: Given): readonly Column<Row>[] {
  const hasFolds = rows.some((row) => row.kind === "instance" && mayHaveChildren(known, row.item));
  const hasKeys = rows.some((row) => row.kind === "instance" && row.item.correlationId !== null);
  const hasSchedules = rows.some((row) => row.kind === "instance" && scheduleOf(row.item) !== null);
  const of = (cell: (row: InstanceRow) => React.ReactNode) => (row: Row) => (row.kind === "instance" ? cell(row) : null);
  return [
    ...(selection === null
      ? []
      : [
          {
            id: "select",
            title: <span className="hidden-text">Selected</span>,
            width: "24px",
            isMinor: true,
            cell: of(({ key, item }) => <Select label={`Select ${item.id}`} isOn={selection.ids.has(item.id)} onPress={(isRange) => selection.toggle(key, isRange)} />),
          },
        ]),
    {
      id: "status",
      title: <span className={classes(hasFolds && styles["besideFold"])}>Status</span>,
      width: hasFolds ? "minmax(140px, 176px)" : "minmax(120px, 150px)",
      cell: (row) => <Status row={row} fold={!hasFolds ? "none" : row.kind === "instance" && mayHaveChildren(known, row.item) ? "shown" : "space"} onToggle={onToggle} />,
    },
    {
      id: "workflow",
      title: "Workflow",
      width: "minmax(110px, 1.2fr)",
      cell: of(({ item }) => (
        <span title={`${item.workflowDefinitionId}, version ${item.definitionVersion}`}>
          {item.workflowDefinitionId}
          <span className={styles["minorText"]}>@{item.definitionVersion}</span>
        </span>
      )),
    },
    {
      id: "id",
      title: "Instance",
      width: "minmax(142px, 0.8fr)",
      // A phone has no room for it; the row leads to the same place, and the link stays for those who hear it.
      narrow: "0px",
      cell: of(({ item }) => (
        <Link href={hrefOf(item)} className={styles["id"]} title={item.id}>
          {item.id}
        </Link>
      )),
    },
    { id: "now", title: "Where it is", width: "minmax(180px, 3fr)", isMinor: true, cell: of(({ item }) => <Now item={item} known={known} />) },
    ...(!hasKeys ? [] : [KEY]),
    ...(!hasSchedules ? [] : [SCHEDULE]),
    { id: "started", title: "Started", width: "112px", narrow: "minmax(64px, auto)", cell: of(({ item }) => <Moment at={item.startedAt ?? item.createdAt} />) },
    { id: "took", title: "Took", width: "72px", align: "end", isMinor: true, cell: of(({ item }) => <Duration from={item.startedAt} to={item.completedAt} />) },
  ];
}

const KEY: Column<Row> = {
  id: "key",
  title: "Key",
  width: "minmax(70px, 0.9fr)",
  isMinor: true,
  cell: (row) => (row.kind !== "instance" ? null : row.item.correlationId === null ? <None /> : <span title={row.item.correlationId}>{row.item.correlationId}</span>),
};

/** The schedule that started an instance. */
const scheduleOf = (item: Instance): string | null => asText(asObject(item.schedule)["id"]);

const SCHEDULE: Column<Row> = {
  id: "schedule",
  title: "Schedule",
  width: "minmax(70px, 0.7fr)",
  isMinor: true,
  cell: (row) => {
    if (row.kind !== "instance") return null;
    const id = scheduleOf(row.item);
    return id === null ? <None /> : <span title={id}>{visible(id)}</span>;
  },
};

const None = () => <span aria-label="none">–</span>;

/** A box to select a row; a button, since keys of the page work while it has the focus. */
function Select({ label, isOn, onPress }: { label: string; isOn: boolean; onPress: (isRange: boolean) => void }) {
  return (
    <button type="button" role="checkbox" aria-checked={isOn} aria-label={label} className={classes(styles["select"], isOn && styles["on"])} onClick={(event) => onPress(event.shiftKey)}>
      {isOn && <Check aria-hidden />}
    </button>
  );
}

function Status({ row, fold, onToggle }: { row: Row; fold: "shown" | "space" | "none"; onToggle: (id: string) => void }) {
  const indent = { paddingLeft: row.depth * 18 };
  if (row.kind === "note") {
    return (
      <span className={styles["note"]} style={indent}>
        {row.text}
      </span>
    );
  }
  const { item, isOpen } = row;
  return (
    <span className={styles["status"]} style={indent}>
      {fold === "shown" ? (
        <button type="button" className={styles["fold"]} aria-expanded={isOpen} aria-label={`Children of ${item.id}`} onClick={() => onToggle(item.id)}>
          {isOpen ? <ChevronDown aria-hidden /> : <ChevronRight aria-hidden />}
        </button>
      ) : (
        fold === "space" && <span className={styles["noFold"]} />
      )}
      <StatusBadge status={item.status} />
    </span>
  );
}

/** The error that stopped it, or the steps that it is at and what they wait on. */
function Now({ item, known }: { item: Instance; known: Known }) {
  const error = item.status === "COMPLETED" ? null : firstErrorLine(item);
  if (item.completedAt !== null) {
    return error === null ? (
      <None />
    ) : (
      <span className={item.status === "FAILED" ? styles["error"] : undefined} title={error}>
        {error}
      </span>
    );
  }
  const steps = item.currentSteps.join(", ");
  const words = error ?? waitingWords(known, item);
  if (steps === "" && words === null) return <None />;
  return (
    <span title={[steps, words].filter(Boolean).join(": ")}>
      {steps} {words !== null && <span className={error === null ? styles["minorText"] : styles["error"]}>{words}</span>}
    </span>
  );
}
