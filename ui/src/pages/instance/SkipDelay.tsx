import { SkipForward } from "lucide-react";

import { useMay } from "../../api/me";
import { send, useAct } from "../../api/queries";
import { keyOf } from "../../core/log";
import { Button } from "../../kit/Button";
import { visible } from "../../kit/JsonView";
import { ErrorState } from "../../kit/States";
import { toast } from "../../kit/toast";
import { useShared } from "./context";
import { isTestRun } from "./model/testRuns";

/** Ends a delay of a test run; other instances have no such button, since the service refuses it. */
export function SkipDelay({ step, iteration, look = "plain" }: { step: string; iteration: string; look?: "primary" | "plain" }) {
  const { id, now, refresh } = useShared();
  const mayControl = useMay("instances:control");
  const skip = useAct<void, unknown>(
    () => send("post", "/api/v1/instances/{id}/steps/{stepId}/skip-delay", { path: { id, stepId: step }, body: iteration === "" ? {} : { iteration } }),
    () => {
      toast({ text: `The delay ${visible(keyOf(step, iteration))} is over` });
      refresh();
    },
  );
  if (!mayControl || !isTestRun(now.definitionId)) return null;
  return (
    <>
      <div>
        <Button look={look} icon={<SkipForward />} isPending={skip.isPending} onClick={() => skip.mutate()}>
          Skip the delay
        </Button>
      </div>
      {skip.error !== null && <ErrorState isInline error={skip.error} />}
    </>
  );
}
