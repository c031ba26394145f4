import { makeStore } from "./store";

/** The key that requests carry. It lives in sessionStorage: it ends with the tab, and never is in a URL. */
export interface Session {
  key: string | null;
  /** The service refused the key, or the lack of one: a sign-in is needed. */
  isRefused: boolean;
}

const PLACE = "tenuto.key";

function storedKey(): string | null {
  try {
    return sessionStorage.getItem(PLACE);
  } catch {
    return null;
  }
}

export const session = makeStore<Session>({ key: storedKey(), isRefused: false });

export function signIn(key: string): void {
  try {
    sessionStorage.setItem(PLACE, key);
  } catch {
    // Without storage a reload asks for the key again.
  }
  session.set({ key, isRefused: false });
}

export function signOut(): void {
  try {
    sessionStorage.removeItem(PLACE);
  } catch {
    // There was none.
  }
  session.set({ key: null, isRefused: true });
}

/** A request with `key` was refused; a newer key may be good. */
export function refuse(key: string | null): void {
  if (session.get().key === key) session.set({ key, isRefused: true });
}
