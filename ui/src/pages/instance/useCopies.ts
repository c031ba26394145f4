import { basePath } from "../../api/base";
import { useMe } from "../../api/me";
import { asCommand, asCurl, asPython, type Action, type Place } from "../../core/commands";
import { FINAL } from "../../core/state";
import { summaryOf } from "../../core/summary";
import { instanceView } from "../../core/view";
import { serviceNow } from "../../state/clock";
import { useShared } from "./context";

/** Where this page's service is, for commands that are copied. */
export function usePlace(): Place {
  const me = useMe();
  return { url: `${window.location.origin}${basePath}`, needsKey: me?.signIn.isRequired ?? false };
}

/** What can be copied: the link, a summary in text, and the main action as commands. */
export function useCopies() {
  const shared = useShared();
  const place = usePlace();
  const { id, now, plan, explanation, linkTo, isFolded } = shared;
  const action: Action = actionOf(now.status, id);
  return {
    link: () => linkTo({}),
    text: () =>
      summaryOf({
        instance: instanceView(plan, now),
        ...(explanation === null ? {} : { explanation }),
        ...(isFolded ? { state: now } : {}),
        link: linkTo({}),
        now: serviceNow(),
      }),
    curl: () => asCurl(action, place),
    cli: () => asCommand(action, place),
    python: () => asPython(action, place),
  };
}

/** What is done most with an instance that stands so. */
function actionOf(status: string, id: string): Action {
  if (status === "FAILED") return { kind: "retry", id };
  if (status === "PAUSED") return { kind: "resume", id };
  return FINAL.has(status) ? { kind: "rerun", id } : { kind: "cancel", id };
}
