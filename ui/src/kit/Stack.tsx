import type { ReactNode } from "react";

import styles from "./Stack.module.css";

/** Parts one below the other, with even gaps. */
export const Stack = ({ children }: { children: ReactNode }) => <div className={styles["stack"]}>{children}</div>;
