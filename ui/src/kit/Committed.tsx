import { useEffect, useState } from "react";

import { TextInput } from "./Field";

/** A text that narrows the list when it is left or Enter is pressed, not with every letter. */
export function Committed({ value, placeholder, onCommit }: { value: string; placeholder: string; onCommit: (value: string) => void }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const commit = () => text.trim() !== value && onCommit(text.trim());
  return <TextInput type="search" value={text} placeholder={placeholder} onChange={(event) => setText(event.target.value)} onBlur={commit} onKeyDown={(event) => event.key === "Enter" && commit()} />;
}
