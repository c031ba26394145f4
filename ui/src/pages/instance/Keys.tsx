import { useMay } from "../../api/me";
import { INSTANCE_TABS } from "../../core/url";
import { copyText } from "../../kit/CopyButton";
import { useKeys } from "../../kit/keys";
import { toast } from "../../kit/toast";
import { useShared } from "./context";
import { failures, isSamePlace } from "./model/redo";
import { NOTHING } from "./useSelection";

const NAMES: Record<string, string> = { graph: "Graph", timeline: "Timeline", log: "Log", context: "Context", children: "Children", compensation: "Compensation" };

/** The keys of the page. */
export function Keys() {
  const { select, selection, shown, now, linkTo, open } = useShared();
  const mayStart = useMay("instances:start");
  const failed = failures(shown);
  const goToFailed = (by: number) => {
    if (failed.length === 0) return toast({ text: "No step has failed" });
    const place = failed.findIndex((each) => isSamePlace(each, selection.step, selection.iteration));
    const next = failed[(place + by + failed.length) % failed.length] ?? failed[0];
    if (next !== undefined) select({ ...NOTHING, ...next, part: "error" });
  };
  const moveTo = (at: number) => select({ at: at >= now.version ? null : Math.max(at, 1) }, "replace");
  const at = selection.at ?? now.version;
  useKeys([
    ...INSTANCE_TABS.filter((tab) => tab !== "compensation" || now.compensation !== null).map((tab, place) => ({ keys: String(place + 1), label: NAMES[tab] ?? tab, run: () => select({ tab }) })),
    { keys: "n", label: "Next failed step", run: () => goToFailed(1) },
    { keys: "N", label: "Previous failed step", run: () => goToFailed(-1) },
    { keys: ",", label: "One entry earlier", run: () => moveTo(at - 1) },
    { keys: ".", label: "One entry later", run: () => moveTo(at + 1) },
    { keys: "c", label: "Copy a link to the selection", run: () => void copyText(linkTo({})).then((isDone) => isDone && toast({ text: "Link copied" })) },
    ...(mayStart ? [{ keys: "r", label: "Rerun", run: () => open({ kind: "rerun", from: selection.step }) }] : []),
    { keys: "Escape", label: "Clear the selection", run: () => select(selection.at === null ? NOTHING : { at: null }) },
  ]);
  return null;
}
