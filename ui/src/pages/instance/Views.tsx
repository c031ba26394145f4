import { lazy, Suspense, type ReactNode } from "react";

import { count } from "../../core/format";
import { decode, INSTANCE, INSTANCE_TABS } from "../../core/url";
import { later } from "../../kit/later";
import { Loading } from "../../kit/States";
import { Tabs } from "../../kit/Tabs";
import { PartBoundary } from "./PartBoundary";
import { useShared } from "./context";
import styles from "./styles.module.css";

const VIEWS = {
  graph: later(() => import("./tabs/GraphTab")),
  timeline: later(() => import("./tabs/TimelineTab")),
  log: later(() => import("./tabs/LogTab")),
  context: later(() => import("./tabs/ContextTab")),
  children: later(() => import("./tabs/ChildrenTab")),
  compensation: later(() => import("./tabs/CompensationTab")),
};
// The view of the address is fetched beside the instance, not after it.
void VIEWS[decode(INSTANCE, new URLSearchParams(window.location.search)).tab].fetch();

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
    tab("graph", "Graph", <VIEWS.graph />),
    tab("timeline", "Timeline", <VIEWS.timeline />),
    tab("log", `Log ${count(Math.max(log.length, now.version))}`, <VIEWS.log />),
    tab("context", "Context", <VIEWS.context />),
    tab("children", children > 0 ? `Children ${count(children)}` : "Children", <VIEWS.children />),
    ...(now.compensation === null && selection.tab !== "compensation" ? [] : [tab("compensation", "Compensation", <VIEWS.compensation />)]),
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
