import { ChevronsUp, Hand, Play } from "lucide-react";
import { Link } from "wouter";

import { count } from "../../core/format";
import { path } from "../../core/url";
import { IconButton } from "../../kit/Button";
import { visible } from "../../kit/JsonView";
import { Duration, Moment } from "../../kit/Moment";
import { StatusBadge } from "../../kit/StatusBadge";
import type { Column } from "../../kit/Table";
import { Holders, shortId } from "./Holders";
import { waitWords, type LimitUse, type Queued } from "./limits";
import styles from "./styles.module.css";

export type Move = "promote" | "hold" | "release";

export const hrefOf = (id: string): string => path("instances", id);

interface Given {
  limits: readonly LimitUse[];
  rows: readonly Queued[];
  mayMove: boolean;
  /** The instance whose place is being changed. */
  moving: string | null;
  onMove: (id: string, how: Move) => void;
}

/** What the rows have decides which columns there are: no space is kept for a priority that no row has. */
export function columnsOf({ limits, rows, mayMove, moving, onMove }: Given): readonly Column<Queued>[] {
  const byName = new Map(limits.map((each) => [each.limit, each]));
  const hasPriority = rows.some(({ priority }) => priority !== 0);
  const hasDeadline = rows.some(({ deadline }) => deadline !== null);
  return [
    { id: "position", title: <span title="Position">#</span>, width: "36px", narrow: "32px", align: "end", cell: ({ position }) => (position === null ? <None /> : count(position)) },
    {
      id: "instance",
      title: "Instance",
      width: "112px",
      cell: ({ instanceId }) => (
        <Link href={hrefOf(instanceId)} title={instanceId} className={styles["id"]}>
          {shortId(instanceId)}
        </Link>
      ),
    },
    { id: "workflow", title: "Workflow", width: "minmax(70px, 0.8fr)", isMinor: true, cell: ({ workflowId }) => <Link href={path("workflows", workflowId)}>{visible(workflowId)}</Link> },
    { id: "for", title: "Waits for", width: "minmax(150px, 2fr)", narrow: "minmax(0, 1fr)", cell: (row) => <WaitsFor row={row} /> },
    { id: "by", title: "Held by", width: "minmax(130px, 1fr)", isMinor: true, cell: ({ held, waitingFor }) => (held === true ? <None /> : <Holders use={byName.get(waitingFor[0]?.limit ?? "")} most={1} isLine />) },
    { id: "since", title: "For", width: "64px", align: "end", isMinor: true, cell: ({ since }) => <Duration from={since} to={null} /> },
    ...(hasPriority ? [{ id: "priority", title: "Priority", width: "72px", align: "end" as const, isMinor: true, cell: ({ priority }: Queued) => count(priority) }] : []),
    ...(hasDeadline ? [{ id: "deadline", title: "Deadline", width: "128px", isMinor: true, cell: ({ deadline }: Queued) => <Moment at={deadline} /> }] : []),
    ...(mayMove ? [{ id: "act", title: <span className="hidden-text">Actions</span>, width: "60px", align: "end" as const, cell: (row: Queued) => <Moves row={row} isPending={moving === row.instanceId} onMove={onMove} /> }] : []),
  ];
}

const None = () => <span aria-label="none">–</span>;

function WaitsFor({ row: { held, waitingFor, place, until } }: { row: Queued }) {
  if (held === true) return <StatusBadge status="ON_HOLD" />;
  const words = waitWords(waitingFor);
  const tag = place === "promoted" ? "promoted" : place === "woken" ? "woken" : null;
  return (
    <span title={`${words}${tag === null ? "" : ` (${tag})`}`}>
      {tag !== null && <span className={styles["tag"]}>{tag}</span>}
      {words === "" ? <span className={styles["muted"]}>its turn, at once</span> : visible(words)}
      {until != null && (
        <span className={styles["muted"]}>
          , until <Moment at={until} />
        </span>
      )}
    </span>
  );
}

function Moves({ row: { instanceId, held, place }, isPending, onMove }: { row: Queued; isPending: boolean; onMove: Given["onMove"] }) {
  return (
    <span className={styles["moves"]}>
      {place === "usual" && held !== true && <IconButton label={`Promote ${instanceId}`} icon={<ChevronsUp />} isPending={isPending} onClick={() => onMove(instanceId, "promote")} />}
      {held === true ? (
        <IconButton label={`Release ${instanceId}`} icon={<Play />} isPending={isPending} onClick={() => onMove(instanceId, "release")} />
      ) : (
        <IconButton label={`Hold ${instanceId}`} icon={<Hand />} isPending={isPending} onClick={() => onMove(instanceId, "hold")} />
      )}
    </span>
  );
}
