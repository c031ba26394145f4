import { Tabs as Radix } from "radix-ui";
import type { ReactNode } from "react";

import styles from "./Tabs.module.css";

export interface Tab {
  id: string;
  label: ReactNode;
  content: ReactNode;
}

/** Tabs whose choice belongs to the page, and so to its URL. Only the chosen tab is mounted. */
export function Tabs({ label, tabs, chosen, onChoose, end }: { label: string; tabs: readonly Tab[]; chosen: string; onChoose: (id: string) => void; end?: ReactNode }) {
  const known = tabs.some((tab) => tab.id === chosen) ? chosen : (tabs[0]?.id ?? "");
  return (
    <Radix.Root value={known} onValueChange={onChoose} className={styles["tabs"]} activationMode="manual">
      <div className={styles["bar"]}>
        <Radix.List className={styles["list"]} aria-label={label}>
          {tabs.map((tab) => (
            <Radix.Trigger key={tab.id} value={tab.id} className={styles["tab"]}>
              {tab.label}
            </Radix.Trigger>
          ))}
        </Radix.List>
        {end}
      </div>
      {tabs.map((tab) => (
        <Radix.Content key={tab.id} value={tab.id} className={styles["content"]}>
          {tab.content}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
