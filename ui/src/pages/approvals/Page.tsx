import { Link, useSearchParams } from "wouter";

import { useMay } from "../../api/me";
import { useList } from "../../api/queries";
import type { Shape } from "../../api/types";
import { counted } from "../../core/format";
import { shortId } from "../../core/ids";
import { path } from "../../core/url";
import { useParameters } from "../../kit/address";
import { Button } from "../../kit/Button";
import { Choice } from "../../kit/Choice";
import { Committed } from "../../kit/Committed";
import { Filter, Filters } from "../../kit/Filters";
import { visible } from "../../kit/JsonView";
import { Listed } from "../../kit/Listed";
import { Duration, Moment } from "../../kit/Moment";
import { Page } from "../../kit/Page";
import { Select } from "../../kit/Select";
import { EmptyState } from "../../kit/States";
import { StatusBadge } from "../../kit/StatusBadge";
import { Decide } from "./Decide";
import { assignees, inboxOrder } from "./order";
import styles from "./styles.module.css";

type Approval = Shape<"OpenApproval">;

/** More of what a decision is about is in its dialog. */
const LONGEST = 300;

const WHICH = [
  ["", "All that are open"],
  ["yes", "Overdue ones"],
] as const;

const keyOf = ({ instanceId, stepId, iteration }: Approval): string => [instanceId, stepId, iteration].join(" ");

/** What waits for a decision: first what the viewer may decide. The one that is open is in the URL. */
export default function ApprovalsPage() {
  const search = useParameters();
  const [, setSearch] = useSearchParams();
  const isMine = search.get("show") !== "all";
  const isOverdue = search.get("overdue") === "yes";
  const user = search.get("user") ?? "";
  const role = search.get("role") ?? "";
  const isNarrowed = isOverdue || user !== "" || role !== "";
  const list = useList("/api/v1/approvals", {
    query: { limit: 100, mine: isMine, ...(isOverdue ? { overdue: true } : {}), ...(user === "" ? {} : { user }), ...(role === "" ? {} : { role }) },
  });
  const rows = [...list.items].sort(inboxOrder);
  const chosen = search.get("decide");
  const show = (change: Record<string, string | null>) =>
    setSearch(() => {
      const next = new URLSearchParams(window.location.search);
      for (const [name, value] of Object.entries(change)) {
        if (value === null) next.delete(name);
        else next.set(name, value);
      }
      return next;
    });
  const open = rows.find((row) => keyOf(row) === chosen);
  return (
    <Page
      title="Approvals"
      actions={
        <Choice
          label="Which approvals"
          chosen={isMine ? "mine" : "all"}
          options={[
            ["mine", "For me"],
            ["all", "All"],
          ]}
          onChoose={(which) => show(which === "all" ? { show: "all" } : { show: null, user: null, role: null })}
        />
      }
    >
      <Filters label="Filter of the approvals">
        {!isMine && (
          <>
            <Filter label="User">
              <Committed value={user} placeholder="ann" onCommit={(value) => show({ user: value === "" ? null : value })} />
            </Filter>
            <Filter label="Role">
              <Committed value={role} placeholder="operator" onCommit={(value) => show({ role: value === "" ? null : value })} />
            </Filter>
          </>
        )}
        <Filter label="Which">
          <Select value={isOverdue ? "yes" : ""} options={WHICH} onChange={(event) => show({ overdue: event.target.value === "" ? null : event.target.value })} />
        </Filter>
      </Filters>
      <Listed
        list={list}
        label="approvals"
        empty={
          isNarrowed ? (
            <EmptyState title="No approval is like that" action={<Button onClick={() => show({ overdue: null, user: null, role: null })}>Show all of them</Button>}>
              An approval is overdue once it was reminded of, or has escalated. Users and roles are compared whole, as the step names them.
            </EmptyState>
          ) : isMine ? (
            <EmptyState title="Nothing waits for you" action={<Button onClick={() => show({ show: "all" })}>Show all approvals</Button>}>
              A step of the type approval that names you or your role appears here until it is decided.
            </EmptyState>
          ) : (
            <EmptyState title="Nothing waits for a decision">A step of the type approval appears here until it is decided, or its deadline passes.</EmptyState>
          )
        }
      >
        <ul className={styles["inbox"]} aria-label="Approvals">
          {rows.map((row) => (
            <Item key={keyOf(row)} row={row} onDecide={() => show({ decide: keyOf(row) })} />
          ))}
        </ul>
        <p className={styles["foot"]}>
          {list.hasMore ? (
            <Button isPending={list.isReadingMore} onClick={list.readMore}>
              Read on
            </Button>
          ) : (
            counted(rows.length, "approval")
          )}
        </p>
      </Listed>
      {open !== undefined && <Decide approval={open} onClose={() => show({ decide: null })} />}
    </Page>
  );
}

function Item({ row, onDecide }: { row: Approval; onDecide: () => void }) {
  const may = useMay("instances:decide") && row.mayDecide;
  return (
    <li className={styles["item"]}>
      <div className={styles["what"]}>
        <p className={styles["title"]}>
          {row.isOverdue && <StatusBadge status="OVERDUE" />}
          <b>{row.stepId}</b>
          {row.iteration !== "" && <span className={styles["muted"]}>#{row.iteration}</span>}
          <span className={styles["muted"]}>of</span>
          <Link href={path("instances", row.instanceId)} title={row.instanceId}>
            {row.workflowId} <code>{shortId(row.instanceId)}</code>
          </Link>
          {row.correlationId !== null && <code className={styles["correlation"]}>{row.correlationId}</code>}
        </p>
        <p className={styles["muted"]}>
          {row.openedAt !== null && (
            <>
              asked <Duration from={row.openedAt} to={null} /> ago
            </>
          )}
          {row.dueAt !== null && (
            <>
              {" · "}
              {Date.parse(row.dueAt) < Date.now() ? "was due" : "due"} <Moment at={row.dueAt} />
            </>
          )}
          {" · "}
          {assignees(row)}
          {row.escalatedAt !== null && " · escalated"}
        </p>
        <p className={styles["about"]}>
          <code>{visible(JSON.stringify(row.input) ?? "").slice(0, LONGEST)}</code>
        </p>
      </div>
      {may ? (
        <Button look="primary" onClick={onDecide} aria-label={`Decide ${row.stepId} of ${row.workflowId}`}>
          Decide
        </Button>
      ) : (
        <span className={styles["muted"]}>not yours to decide</span>
      )}
    </li>
  );
}
