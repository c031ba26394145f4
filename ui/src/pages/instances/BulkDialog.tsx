import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";

import { send, useAct } from "../../api/queries";
import { count, counted } from "../../core/format";
import type { InstanceParams } from "../../core/search";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { Field, TextInput } from "../../kit/Field";
import { ErrorState, Loading } from "../../kit/States";
import { StatusBadge } from "../../kit/StatusBadge";
import { ACTIONS, isConfirmed, MOST_IDS, reachOf, TYPED_ABOVE, type BulkAction, type InstanceFilter, type Scope } from "./bulk";
import type { Instance } from "./exporting";
import styles from "./BulkDialog.module.css";

const EXAMPLES = 3;
/** A dry run counts no further. */
const MOST_COUNTED = 100_000;

interface Preview {
  filter: InstanceFilter;
  count: number;
  examples: readonly Instance[];
}

/** Before an action over many begins: how many it reaches, three of them, why it is done, and a number to type where they are many. */
export function BulkDialog({ action, scope, onClose, onBegun }: { action: BulkAction; scope: Scope; onClose: () => void; onBegun: () => void }) {
  const { verb, about, isDanger } = ACTIONS[action];
  const [, navigate] = useLocation();
  const [reason, setReason] = useState("");
  const [typed, setTyped] = useState("");
  const [shouldCompensate, setShouldCompensate] = useState(true);
  // One operation, however often it is pressed.
  const [key] = useState(() => crypto.getRandomValues(new Uint32Array(4)).join("-"));
  const preview = useQuery({ queryKey: ["bulk preview", action, scope], queryFn: () => previewed(action, scope), staleTime: Infinity, gcTime: 0 });
  const begin = useAct(
    ({ filter }: Preview) =>
      send("post", "/api/v1/instances/bulk", {
        body: { action, filter, ...(reason.trim() === "" ? {} : { reason: reason.trim() }), ...(action === "cancel" ? { shouldCompensate } : {}) },
        headers: { "idempotency-key": key },
      }),
    (operation, { count: total }) => {
      onBegun();
      navigate(`/operations/${encodeURIComponent(operation.id ?? "")}?of=${total}`);
    },
  );
  const reached = preview.data;
  const isNone = reached === undefined || reached.count === 0;
  const isReady = !isNone && isConfirmed(reached.count, typed);
  return (
    <Dialog
      title={`${verb} ${isNone ? "instances" : many(reached.count)}`}
      isOpen
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Close</Button>
          {!isNone && (
            <Button look={isDanger ? "danger" : "primary"} disabled={!isReady} isPending={begin.isPending} onClick={() => begin.mutate(reached)}>
              {verb} {many(reached.count)}
            </Button>
          )}
        </>
      }
    >
      {preview.isPending ? (
        <Loading label="Counting" />
      ) : preview.error !== null ? (
        <ErrorState isInline error={preview.error} onRetry={() => void preview.refetch()} />
      ) : isNone ? (
        <p>
          {verb} is possible for {list(ACTIONS[action].statuses)} instances, and {scope.kind === "ids" ? "none of those selected is so" : "the filter finds none of them"}.
        </p>
      ) : (
        <div className={styles["body"]}>
          <p>
            {about} {scope.kind === "filter" && "It reaches everything that fits the filter, also what is not in sight; what comes later is left out."}
          </p>
          <ul className={styles["examples"]} aria-label="Examples">
            {reached.examples.map((item) => (
              <li key={item.id}>
                <StatusBadge status={item.status} look="plain" />
                <span>{item.workflowDefinitionId}</span>
                <code>{item.id}</code>
              </li>
            ))}
            {reached.count > reached.examples.length && <li className={styles["more"]}>and {count(reached.count - reached.examples.length)} more</li>}
          </ul>
          <Field label="Reason" help="It is written to the audit trail.">
            {(ids) => <TextInput {...ids} maxLength={500} value={reason} onChange={(event) => setReason(event.target.value)} />}
          </Field>
          {action === "cancel" && (
            <label className={styles["check"]}>
              <input type="checkbox" checked={shouldCompensate} onChange={(event) => setShouldCompensate(event.target.checked)} />
              Undo what was done, by the compensation of each workflow
            </label>
          )}
          {reached.count > TYPED_ABOVE && (
            <Field label={`Type ${reached.count} to confirm`}>
              {(ids) => <TextInput {...ids} inputMode="numeric" value={typed} onChange={(event) => setTyped(event.target.value)} />}
            </Field>
          )}
          {begin.error !== null && <ErrorState isInline error={begin.error} />}
        </div>
      )}
    </Dialog>
  );
}

const many = (value: number): string => (value >= MOST_COUNTED ? `${count(value)} or more instances` : counted(value, "instance"));
const list = (statuses: readonly string[]): string => statuses.map((each) => each.toLowerCase().replaceAll("_", " ")).join(", ");

async function previewed(action: BulkAction, scope: Scope): Promise<Preview | undefined> {
  const { params, filter } = reachOf(action, scope);
  if (params === null) return { filter: {}, count: 0, examples: [] };
  if (filter === null) return await listed(params);
  const [counted, page] = await Promise.all([
    send("post", "/api/v1/instances/bulk", { body: { action, filter, dryRun: true } }),
    send("get", "/api/v1/instances", { query: { ...params, limit: EXAMPLES } }),
  ]);
  return { filter, count: counted.matched, examples: page.items };
}

/** Operations do not filter so: those that fit are named by their ids, as far as one operation takes them. */
async function listed(params: InstanceParams): Promise<Preview> {
  const { items, nextCursor } = await send("get", "/api/v1/instances", { query: { ...params, limit: MOST_IDS } });
  if (nextCursor !== null) throw new Error(`An action by variables or by time of change reaches ${count(MOST_IDS)} instances at most. Narrow the filter, such as with since: or before:.`);
  return { filter: { ids: items.map(({ id }) => id) }, count: items.length, examples: items.slice(0, EXAMPLES) };
}
