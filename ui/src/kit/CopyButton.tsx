import { Check, Copy } from "lucide-react";
import { useState } from "react";

import { IconButton } from "./Button";
import { toast } from "./toast";

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [isDone, setIsDone] = useState(false);
  const copy = async () => {
    if (!(await copyText(text))) return toast({ text: "The browser did not allow copying.", tone: "red" });
    setIsDone(true);
    setTimeout(() => setIsDone(false), 1_500);
  };
  return <IconButton label={isDone ? "Copied" : label} icon={isDone ? <Check /> : <Copy />} onClick={() => void copy()} />;
}

/** Whether the text is in the clipboard; pages without TLS have no clipboard of their own. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.style.position = "fixed";
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    return isCopied;
  }
}
