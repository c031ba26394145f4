import { makeStore } from "../state/store";
import type { Tone } from "./status";

export interface ToastMessage {
  text: string;
  tone?: Tone;
  /** One thing to do about it. */
  action?: { label: string; run: () => void };
}

export interface ShownToast extends ToastMessage {
  id: number;
}

const SHOWN_MS = 6_000;
const MOST_SHOWN = 4;
let last = 0;

export const toasts = makeStore<readonly ShownToast[]>([]);

/** Say that something was done. It goes away by itself, so nothing may be said here alone. */
export function toast(message: ToastMessage): void {
  const id = ++last;
  toasts.set([...toasts.get(), { ...message, id }].slice(-MOST_SHOWN));
  setTimeout(() => dismiss(id), SHOWN_MS);
}

export const dismiss = (id: number): void => toasts.set(toasts.get().filter((each) => each.id !== id));
