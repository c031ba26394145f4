/** Searches that were kept in this browser: names and filters, nothing that they found. */
export interface View {
  name: string;
  q: string;
}

const PLACE = "tenuto.views";
const MOST = 50;

export function stored(): View[] {
  try {
    return readViews(localStorage.getItem(PLACE));
  } catch {
    return [];
  }
}

export function keep(views: readonly View[]): void {
  try {
    localStorage.setItem(PLACE, JSON.stringify(views.slice(-MOST)));
  } catch {
    // Without storage they last as long as the page.
  }
}

/** What was kept, as far as it can be read. */
export function readViews(text: string | null): View[] {
  const found: unknown = JSON.parse(text ?? "[]");
  if (!Array.isArray(found)) return [];
  return found.filter((each: unknown): each is View => typeof each === "object" && each !== null && "name" in each && "q" in each && typeof each.name === "string" && typeof each.q === "string");
}
