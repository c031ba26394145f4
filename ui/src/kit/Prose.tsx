import { visible } from "./JsonView";

/** Words of the service, in which code stands between backticks. */
export function Prose({ text }: { text: string }) {
  // Each second part was between two of them; one alone is a character like others.
  const parts = text.split(/`([^`\n]+)`/);
  return parts.map((part, place) => (place % 2 === 0 ? visible(part) : <code key={place}>{visible(part)}</code>));
}
