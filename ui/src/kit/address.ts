import { useLocation, useSearch } from "wouter";

/** The last part of the address, exactly as it was written: wouter takes "%2F" for itself, and an id may have both. */
export function useLastPart(): string {
  const [path] = useLocation();
  const last = window.location.pathname.split("/").at(-1) ?? "";
  try {
    return decodeURIComponent(last);
  } catch {
    return path.split("/").at(-1) ?? "";
  }
}

/** The parameters of the address, decoded once: wouter's own are decoded twice, and a value may have a "%25". */
export function useParameters(): URLSearchParams {
  useSearch();
  return new URLSearchParams(window.location.search);
}
