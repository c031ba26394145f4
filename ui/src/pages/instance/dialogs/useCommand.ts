import { useAct } from "../../../api/queries";
import { toast } from "../../../kit/toast";
import { useShared } from "../context";

/** A command to the instance from a dialog: done, it says so and closes; refused, the dialog shows why. */
export function useCommand<Given, Done>(act: (given: Given) => Promise<Done>, said: string, done: (result: Done) => void) {
  const { refresh } = useShared();
  return useAct<Given, Done>(act, (result) => {
    toast({ text: said });
    refresh();
    done(result);
  });
}
