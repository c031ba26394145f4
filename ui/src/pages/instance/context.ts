import { createContext, useContext } from "react";

import type { InstanceData } from "./useInstance";
import type { Selecting } from "./useSelection";

export type DialogName =
  | { kind: "cancel" | "pause" | "retry" }
  | { kind: "rerun"; from: string | null }
  | { kind: "decide"; step: string; iteration: string; decision?: "approved" | "rejected" }
  | { kind: "publish"; step: string; iteration: string; pattern: string; eventId?: string };

/** What the parts of the page share: the instance, the selection, and how a dialog is opened. */
export interface Shared extends InstanceData, Selecting {
  open: (dialog: DialogName) => void;
}

export const SharedContext = createContext<Shared | null>(null);

export function useShared(): Shared {
  const shared = useContext(SharedContext);
  if (shared === null) throw new Error("this part belongs to the page of an instance");
  return shared;
}
