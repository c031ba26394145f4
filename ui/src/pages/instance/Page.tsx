import { useMemo, useState } from "react";

import type { PageProps } from "../../app/pages";
import { path } from "../../core/url";
import { Page } from "../../kit/Page";
import { ErrorState, Loading } from "../../kit/States";
import { SharedContext, type DialogName, type Shared } from "./context";
import { Dialogs } from "./dialogs/Dialogs";
import { Gone } from "./Gone";
import { Actions } from "./Actions";
import { Header } from "./Header";
import { Heading } from "./Heading";
import { Keys } from "./Keys";
import { isTestRun } from "./model/testRuns";
import styles from "./styles.module.css";
import { TimeBar } from "./TimeBar";
import { useInstance } from "./useInstance";
import { useSelection } from "./useSelection";
import { Views } from "./Views";
import { shortId } from "../../core/ids";

const INSTANCES = { label: "Instances", href: "/instances" };

/** One instance: why it stands where it stands, what happened, and what can be done. */
export default function InstancePage({ params }: PageProps) {
  const id = params["id"] ?? "";
  return <Instance key={id} id={id} />;
}

function Instance({ id }: { id: string }) {
  const selecting = useSelection();
  const { data, error, retry } = useInstance(id, selecting.selection.at);
  const [dialog, setDialog] = useState<DialogName | null>(null);
  const shared = useMemo<Shared | null>(() => (data === null ? null : { ...data, ...selecting, open: setDialog }), [data, selecting]);

  if (error?.status === 404) return <Gone id={id} error={error} wasShown={data !== null} />;
  if (shared === null) {
    return (
      <Page title={id} crumbs={[INSTANCES]} heading={shortId(id)}>
        {error === null ? <Loading label="Loading the instance" /> : <ErrorState error={error} onRetry={retry} />}
      </Page>
    );
  }
  const { now } = shared;
  const isTest = isTestRun(now.definitionId);
  return (
    <SharedContext value={shared}>
      <Page
        title={`${isTest ? "Test run" : now.definitionId} · ${shortId(id)}`}
        crumbs={isTest ? [INSTANCES] : [INSTANCES, { label: now.definitionId, href: path("workflows", now.definitionId) }]}
        heading={<Heading />}
        actions={<Actions />}
        isFilled
      >
        <div className={styles["body"]}>
          <Header />
          <Views />
        </div>
        <TimeBar />
        <Keys />
        <Dialogs dialog={dialog} onClose={() => setDialog(null)} />
      </Page>
    </SharedContext>
  );
}
