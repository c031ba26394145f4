import { useQuery } from "@tanstack/react-query";
import { ListChecks, SlidersHorizontal } from "lucide-react";
import { useState } from "react";
import { useSearchParams } from "wouter";

import { useMay } from "../../api/me";
import { LIST_REFRESH_MS, read, send, useAct, useList } from "../../api/queries";
import { useParameters } from "../../kit/address";
import { Button } from "../../kit/Button";
import { Committed } from "../../kit/Committed";
import { Filter, Filters } from "../../kit/Filters";
import { visible } from "../../kit/JsonView";
import { useKeys } from "../../kit/keys";
import { ListFoot, Listed } from "../../kit/Listed";
import { Page } from "../../kit/Page";
import { EmptyState, ErrorState } from "../../kit/States";
import { Table } from "../../kit/Table";
import { toast } from "../../kit/toast";
import { columnsOf, hrefOf, type Move } from "./columns";
import { LimitBars } from "./LimitBars";
import { emptyWords, type LimitUse } from "./limits";
import { LimitsDialog } from "./LimitsDialog";
import { RulesDialog } from "./RulesDialog";
import styles from "./styles.module.css";

const NO_USES: readonly LimitUse[] = [];
const DONE: Record<Move, string> = { promote: "It goes before those that were not promoted", hold: "It is on hold", release: "It waits again" };

/** Which instances wait for a slot, for which limit, and what holds it; how full the limits are. The filter is in the URL. */
export default function QueuePage() {
  const [, setSearch] = useSearchParams();
  const workflowId = useParameters().get("workflow") ?? "";
  const list = useList("/api/v1/queue", { query: { limit: 500, ...(workflowId === "" ? {} : { workflowId }) } });
  const maySee = useMay("limits:read");
  const mayChange = useMay("limits:write");
  const mayMove = useMay("instances:control");
  const uses = useQuery({ ...read("/api/v1/concurrency/usage"), refetchInterval: LIST_REFRESH_MS, enabled: maySee });
  const [isChanging, setIsChanging] = useState(false);
  const [hasRules, setHasRules] = useState(false);
  useKeys([
    ...(mayChange ? [{ keys: "l", label: "Change limits", run: () => setIsChanging(true) }] : []),
    ...(maySee ? [{ keys: "r", label: "Rules of the queue", run: () => setHasRules(true) }] : []),
  ]);
  const move = useAct(
    ({ id, how }: { id: string; how: Move }) => send("post", `/api/v1/queue/{id}/${how}`, { path: { id } }),
    (_, { how }) => toast({ text: DONE[how] }),
  );
  const limits = uses.data?.items ?? NO_USES;
  const change = mayChange && (
    <Button icon={<SlidersHorizontal />} onClick={() => setIsChanging(true)}>
      Change limits
    </Button>
  );
  const actions = maySee && (
    <>
      <Button icon={<ListChecks />} onClick={() => setHasRules(true)}>
        Rules
      </Button>
      {change}
    </>
  );
  const columns = columnsOf({ limits, rows: list.items, mayMove, moving: move.isPending ? (move.variables?.id ?? null) : null, onMove: (id, how) => move.mutate({ id, how }) });
  return (
    <Page title="Queue" isFilled actions={actions}>
      {maySee && uses.error !== null && limits.length === 0 && <ErrorState isInline error={uses.error} onRetry={() => void uses.refetch()} />}
      {limits.length > 0 && <LimitBars limits={limits} isComplete={uses.data?.isComplete ?? true} />}
      {(list.items.length > 0 || workflowId !== "") && (
        <Filters label="Filter the queue">
          <Filter label="Workflow">
            <Committed value={workflowId} placeholder="Any" onCommit={(value) => setSearch(value === "" ? {} : { workflow: value })} />
          </Filter>
        </Filters>
      )}
      {move.error !== null && (
        <div className={styles["refused"]}>
          <ErrorState isInline error={move.error} />
        </div>
      )}
      <Listed list={list} label="the queue" empty={<Nothing workflow={workflowId} uses={uses.data?.items} change={change} onAll={() => setSearch({})} />}>
        <Table label="Queue" columns={columns} rows={list.items} idOf={({ instanceId }) => instanceId} hrefOf={({ instanceId }) => hrefOf(instanceId)} onEnd={list.readMore} foot={<ListFoot list={list} one="instance waits" many="instances wait" />} />
      </Listed>
      {isChanging && <LimitsDialog onClose={() => setIsChanging(false)} />}
      {hasRules && <RulesDialog mayChange={mayChange} onClose={() => setHasRules(false)} />}
    </Page>
  );
}

function Nothing({ workflow, uses, change, onAll }: { workflow: string; uses: readonly LimitUse[] | undefined; change: React.ReactNode; onAll: () => void }) {
  if (workflow !== "")
    return (
      <EmptyState title={`No instance of ${visible(workflow)} waits for a slot`} action={<Button onClick={onAll}>Show all</Button>}>
        What has its slot is in the list of instances.
      </EmptyState>
    );
  const hasNone = uses?.length === 0;
  return (
    <EmptyState title="No instance waits for a slot" {...(hasNone ? { action: change, command: "tenuto concurrency set limits.json" } : {})}>
      {visible(emptyWords(uses))}
    </EmptyState>
  );
}
