import { makeStore } from "./store";

/** The key that requests carry. It lives in sessionStorage: it ends with the tab, and never is in a URL. */
export interface Session {
  key: string | null;
  /** Why a sign-in is needed: the service refused the key (or the lack of one), or its viewer has signed out. */
  needsSignIn: "refused" | "left" | null;
}

const PLACE = "tenuto.key";

function storedKey(): string | null {
  try {
    return sessionStorage.getItem(PLACE);
  } catch {
    return null;
  }
}

export const session = makeStore<Session>({ key: storedKey(), needsSignIn: null });

export function signIn(key: string): void {
  try {
    sessionStorage.setItem(PLACE, key);
  } catch {
    // Without storage a reload asks for the key again.
  }
  session.set({ key, needsSignIn: null });
}

export function signOut(): void {
  try {
    sessionStorage.removeItem(PLACE);
  } catch {
    // There was none.
  }
  session.set({ key: null, needsSignIn: "left" });
}

/** A request with `key` was refused; a newer key may be good. */
export function refuse(key: string | null): void {
  if (session.get().key === key) session.set({ key, needsSignIn: "refused" });
}
