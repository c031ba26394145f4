import { send, useAct } from "../../api/queries";
import { toast } from "../../kit/toast";
import { useShared } from "./context";

/** Resume a paused instance; a refusal is said where it was asked. */
export function useResume() {
  const { id, refresh } = useShared();
  const act = useAct<void, unknown>(
    () => send("post", "/api/v1/instances/{id}/resume", { path: { id } }),
    () => {
      toast({ text: "Resumed" });
      refresh();
    },
  );
  return act;
}
