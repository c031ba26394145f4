import type { ReactNode } from "react";

import { counted } from "../core/format";
import styles from "./Listed.module.css";
import { ErrorState, Loading } from "./States";

interface Read {
  items: readonly unknown[];
  isPending: boolean;
  error: unknown;
  hasMore: boolean;
  /** False where more are there than the service has looked at. */
  isComplete?: boolean;
  refresh: () => void;
}

/** The states of a list in their order: loading, failed, empty, and the content, which stays while a later read fails. */
export function Listed({ list, label, empty, children }: { list: Read; label: string; empty: ReactNode; children: ReactNode }) {
  if (list.isPending) return <Loading label={`Loading ${label}`} />;
  if (list.items.length > 0) return children;
  if (list.error !== null) return <ErrorState error={list.error} onRetry={list.refresh} />;
  return empty;
}

/** Below a list: how many there are, as far as it was read. */
export function ListFoot({ list, one, many }: { list: Read; one: string; many?: string }) {
  return <p className={styles["foot"]}>{list.hasMore ? "Reading on…" : `${list.isComplete === false ? "At least " : ""}${counted(list.items.length, one, many)}`}</p>;
}
