import { useQuery } from "@tanstack/react-query";
import { ChevronDown, Play } from "lucide-react";
import { useMemo } from "react";
import { useLocation, useSearchParams } from "wouter";

import { useMay } from "../../api/me";
import { read } from "../../api/queries";
import type { PageProps } from "../../app/pages";
import { factsOf, readComparison } from "../../core/definition";
import { Button } from "../../kit/Button";
import { Menu } from "../../kit/Menu";
import { Page } from "../../kit/Page";
import { ErrorState, Loading } from "../../kit/States";
import { Tabs } from "../../kit/Tabs";
import { Comparison } from "./Comparison";
import styles from "./detail.module.css";
import { GraphTab } from "./GraphTab";
import { InstancesTab } from "./InstancesTab";
import { JsonTab } from "./JsonTab";
import { startHref, workflowHref } from "./links";
import { UsesTab } from "./UsesTab";
import { VersionsTab } from "./VersionsTab";

const CRUMBS = [{ label: "Workflows", href: "/workflows" }];
const MOST_LISTED = 20;

/** One workflow. The version, the tab, the step and the comparison are in the URL. */
export default function WorkflowPage({ params }: PageProps) {
  const id = params["id"] ?? "";
  const [search, setSearch] = useSearchParams();
  const version = wholeNumber(search.get("version"));
  const found = useQuery(read("/api/v1/workflows/{id}", { path: { id }, ...(version === null ? {} : { query: { version } }) }));
  const newest = useQuery({ ...read("/api/v1/workflows/{id}", { path: { id } }), refetchInterval: 10_000 });
  const facts = useMemo(() => factsOf(found.data?.definition), [found.data]);
  const mayRead = useMay("instances:read");
  const set = (changes: Record<string, string | null>) =>
    setSearch((before) => {
      const next = new URLSearchParams(before);
      for (const [name, value] of Object.entries(changes)) {
        if (value === null) next.delete(name);
        else next.set(name, value);
      }
      return next;
    });
  const comparison = readComparison(search.get("diff"));
  const workflow = found.data;
  const last = newest.data?.version ?? workflow?.version ?? 1;
  return (
    <Page
      title={`${workflow?.name ?? id} · Workflow`}
      heading={workflow?.name ?? id}
      crumbs={CRUMBS}
      isFilled
      actions={workflow !== undefined && comparison === null && <Actions id={id} version={workflow.version} newest={last} onVersion={(next) => set({ version: next === last ? null : String(next), diff: null, step: null })} />}
    >
      {found.isPending ? (
        <Loading label="Loading the workflow" />
      ) : workflow === undefined ? (
        <ErrorState error={found.error} onRetry={() => void found.refetch()} />
      ) : comparison !== null ? (
        <Comparison id={id} {...comparison} newest={last} view={search.get("view") ?? "graph"} step={search.get("step")} onChange={set} />
      ) : (
        <div className={styles["tabs"]}>
          <Tabs
          label="The workflow"
          chosen={search.get("tab") ?? "graph"}
          onChoose={(tab) => set({ tab: tab === "graph" ? null : tab })}
          tabs={[
            { id: "graph", label: "Graph", content: <GraphTab key={workflow.version} workflow={workflow} facts={facts} step={search.get("step")} onStep={(step) => set({ step })} /> },
            { id: "versions", label: "Versions", content: <VersionsTab id={id} shown={workflow.version} /> },
            { id: "uses", label: "Where used", content: <UsesTab id={id} facts={facts} /> },
            ...(mayRead ? [{ id: "instances", label: "Instances", content: <InstancesTab id={id} /> }] : []),
            { id: "json", label: "JSON", content: <JsonTab workflow={workflow} /> },
          ]}
        />
        </div>
      )}
    </Page>
  );
}

function Actions({ id, version, newest, onVersion }: { id: string; version: number; newest: number; onVersion: (version: number) => void }) {
  const [, navigate] = useLocation();
  const mayStart = useMay("instances:start");
  const listed = Array.from({ length: Math.min(newest, MOST_LISTED) }, (_, place) => newest - place);
  const start = version === newest ? startHref(id) : `${startHref(id)}?version=${version}`;
  return (
    <>
      <Menu
        label="Version"
        trigger={
          <Button icon={<ChevronDown />}>
            {`Version ${version}`}
            {version === newest ? " (newest)" : ""}
          </Button>
        }
        items={[
          ...listed.map((each) => ({ label: `Version ${each}${each === newest ? " (newest)" : ""}`, isChosen: each === version, onSelect: () => onVersion(each) })),
          null,
          { label: "All versions", onSelect: () => navigate(`${workflowHref(id)}?tab=versions`) },
        ]}
      />
      {mayStart && (
        <Button look="primary" icon={<Play />} onClick={() => navigate(start)}>
          Start
        </Button>
      )}
    </>
  );
}

const wholeNumber = (text: string | null): number | null => (text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null);
