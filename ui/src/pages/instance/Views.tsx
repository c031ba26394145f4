import { lazy, Suspense, type ReactNode } from "react";

import { count } from "../../core/format";
import { INSTANCE_TABS } from "../../core/url";
import { Loading } from "../../kit/States";
import { Tabs } from "../../kit/Tabs";
import { PartBoundary } from "./PartBoundary";
import { useShared } from "./context";
import styles from "./styles.module.css";

const GraphTab = lazy(() => import("./tabs/GraphTab"));
const LogTab = lazy(() => import("./tabs/LogTab"));
const TimelineTab = lazy(() => import("./tabs/TimelineTab"));
const ContextTab = lazy(() => import("./tabs/ContextTab"));
const ChildrenTab = lazy(() => import("./tabs/ChildrenTab"));
const CompensationTab = lazy(() => import("./tabs/CompensationTab"));
const Inspector = lazy(() => import("./inspector/Inspector"));

type TabName = (typeof INSTANCE_TABS)[number];

/** Drawings of the same data, beside an inspector of what is selected in any of them. */
export function Views() {
  const { selection, select, now, log, shown } = useShared();
  const children = [...now.activations.values()].reduce((sum, node) => sum + node.children.length, 0);
  const tab = (id: TabName, label: ReactNode, content: ReactNode) => ({
    id,
    label,
    content: (
      <PartBoundary key={id}>
        <Suspense fallback={<Loading />}>{content}</Suspense>
      </PartBoundary>
    ),
  });
  const tabs = [
    tab("graph", "Graph", <GraphTab />),
    tab("timeline", "Timeline", <TimelineTab />),
    tab("log", `Log ${count(Math.max(log.length, now.version))}`, <LogTab />),
    tab("context", "Context", <ContextTab />),
    tab("children", children > 0 ? `Children ${count(children)}` : "Children", <ChildrenTab />),
    ...(now.compensation === null && selection.tab !== "compensation" ? [] : [tab("compensation", "Compensation", <CompensationTab />)]),
  ];
  const hasSelection = selection.step !== null || selection.entry !== null;
  return (
    <div className={styles["views"]} data-at={selection.at === null ? undefined : shown.version}>
      <div className={styles["main"]}>
        <Tabs label="Views of the instance" tabs={tabs} chosen={selection.tab} onChoose={(id) => select({ tab: id as TabName })} />
      </div>
      {hasSelection && (
        <aside className={styles["inspector"]} aria-label="Selection">
          <PartBoundary key={`${selection.step} ${selection.entry}`}>
            <Suspense fallback={<Loading />}>
              <Inspector />
            </Suspense>
          </PartBoundary>
        </aside>
      )}
    </div>
  );
}
