import { Ban, ChevronDown, Copy, FastForward, Pause, Play, RotateCcw } from "lucide-react";

import { useMay } from "../../api/me";
import { FINAL } from "../../core/state";
import { Button } from "../../kit/Button";
import { copyText } from "../../kit/CopyButton";
import { Menu, type MenuItem } from "../../kit/Menu";
import { ErrorState } from "../../kit/States";
import { toast } from "../../kit/toast";
import { useShared } from "./context";
import { isTestRun } from "./model/testRuns";
import { useCopies } from "./useCopies";
import { useResume } from "./useResume";
import styles from "./styles.module.css";

/** What can be done with the instance, as far as it stands and the principal may; the sentence has what helps it on. */
export function Actions() {
  const { now, open, selection, explanation } = useShared();
  const mayControl = useMay("instances:control");
  const mayStart = useMay("instances:start");
  const resume = useResume();
  const copies = useCopies();
  const isFinal = FINAL.has(now.status);
  const isCancelling = now.cancellation !== null || now.ending !== null;
  const isTest = isTestRun(now.definitionId);
  const copy = (label: string, text: () => string): MenuItem => ({
    label,
    onSelect: () => void copyText(text()).then((isDone) => toast(isDone ? { text: `${label}: copied` } : { text: "The browser did not allow copying.", tone: "red" })),
  });
  const rerun: (MenuItem | null)[] = [
    ...(selection.step === null ? [] : [{ label: `From ${selection.step}`, icon: <FastForward />, onSelect: () => open({ kind: "rerun", from: selection.step }) }]),
    { label: "From the start", icon: <RotateCcw />, hint: "r", onSelect: () => open({ kind: "rerun", from: null }) },
  ];
  return (
    <>
      {mayControl && now.status === "FAILED" && explanation === null && (
        <Button icon={<RotateCcw />} onClick={() => open({ kind: "retry" })}>
          Retry
        </Button>
      )}
      {mayControl && now.status === "PAUSED" && explanation === null && (
        <Button icon={<Play />} isPending={resume.isPending} onClick={() => resume.mutate()}>
          Resume
        </Button>
      )}
      {mayControl && ["RUNNING", "WAITING_FOR_EVENT"].includes(now.status) && !isCancelling && (
        <Button icon={<Pause />} onClick={() => open({ kind: "pause" })}>
          Pause
        </Button>
      )}
      {mayStart && !isTest && (
        <Menu
          label="Rerun"
          items={rerun}
          trigger={
            <Button icon={<FastForward />}>
              Rerun <ChevronDown aria-hidden className={styles["chevron"]} />
            </Button>
          }
        />
      )}
      {mayControl && !isFinal && !isCancelling && (
        <Button look="danger" icon={<Ban />} onClick={() => open({ kind: "cancel" })}>
          Cancel
        </Button>
      )}
      <Menu
        label="Copy"
        items={[
          { ...copy("Copy link", copies.link), hint: "c" },
          copy("Copy as text", copies.text),
          null,
          copy("Copy as curl", copies.curl),
          copy("Copy as command", copies.cli),
          copy("Copy as Python", copies.python),
        ]}
        trigger={
          <Button icon={<Copy />}>
            Copy <ChevronDown aria-hidden className={styles["chevron"]} />
          </Button>
        }
      />
      {resume.error !== null && <ErrorState isInline error={resume.error} />}
    </>
  );
}
