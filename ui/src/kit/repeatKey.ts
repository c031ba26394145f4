import { useRef } from "react";

/** A key that stays while the same is asked for again: after a lost answer, a second press does nothing twice. */
export function useRepeatKey(): (content: unknown) => string {
  const begun = useRef({ content: "", key: "" });
  return (content) => {
    const text = JSON.stringify(content);
    if (begun.current.content !== text) begun.current = { content: text, key: newKey() };
    return begun.current.key;
  };
}

/** Also without TLS, where browsers have no `randomUUID`. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `ui-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
