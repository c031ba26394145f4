import { X } from "lucide-react";

import { parseSearch, type InstanceParams } from "../../core/search";
import styles from "./styles.module.css";

/** What is filtered by, always in sight; each can be taken away. */
export function Chips({ text, params, onChange }: { text: string; params: InstanceParams; onChange: (text: string) => void }) {
  const { terms } = parseSearch(text);
  const saysScope = terms.some(({ qualifier }) => qualifier === "is");
  return (
    <ul className={styles["chips"]} aria-label="Active filters">
      {terms.map(({ from, to }) => (
        <Chip key={from} label={text.slice(from, to)} onRemove={() => onChange(without(text, from, to))} />
      ))}
      {params.roots === true && !saysScope && <Chip label="roots only" onRemove={() => onChange(`${text} is:any`.trim())} />}
    </ul>
  );
}

function Chip({ label, onRemove }: { label: string; onRemove: () => void }) {
  return (
    <li className={styles["chip"]}>
      <span>{label}</span>
      <button type="button" aria-label={`Remove ${label}`} title={`Remove ${label}`} onClick={onRemove}>
        <X aria-hidden />
      </button>
    </li>
  );
}

/** The text without the term at this place. */
export const without = (text: string, from: number, to: number): string => `${text.slice(0, from).trimEnd()} ${text.slice(to).trimStart()}`.trim();
