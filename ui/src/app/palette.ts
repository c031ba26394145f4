import { makeStore } from "../state/store";

/** Which of the frame's own dialogs is open. */
export const dialog = makeStore<"palette" | "keys" | null>(null);

export const openPalette = (): void => dialog.set("palette");
export const openKeys = (): void => dialog.set("keys");
export const closeDialog = (): void => dialog.set(null);
