import { lazy, Suspense } from "react";

import type { DialogName } from "../context";

const CancelDialog = lazy(() => import("./CancelDialog"));
const DecideDialog = lazy(() => import("./DecideDialog"));
const PauseDialog = lazy(() => import("./PauseDialog"));
const PublishDialog = lazy(() => import("./PublishDialog"));
const RerunDialog = lazy(() => import("./RerunDialog"));
const RetryDialog = lazy(() => import("./RetryDialog"));

/** The dialog that is open; each is loaded when it is first opened. */
export function Dialogs({ dialog, onClose }: { dialog: DialogName | null; onClose: () => void }) {
  return (
    <Suspense>
      <Opened dialog={dialog} onClose={onClose} />
    </Suspense>
  );
}

function Opened({ dialog, onClose }: { dialog: DialogName | null; onClose: () => void }) {
  switch (dialog?.kind) {
    case undefined:
      return null;
    case "cancel":
      return <CancelDialog onClose={onClose} />;
    case "pause":
      return <PauseDialog onClose={onClose} />;
    case "retry":
      return <RetryDialog onClose={onClose} />;
    case "rerun":
      return <RerunDialog from={dialog.from} onClose={onClose} />;
    case "decide":
      return <DecideDialog {...dialog} onClose={onClose} />;
    case "publish":
      return <PublishDialog {...dialog} onClose={onClose} />;
  }
}
