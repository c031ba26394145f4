import { Download } from "lucide-react";

import type { Shape } from "../../api/types";
import { size } from "../../core/format";
import { Button } from "../../kit/Button";
import { CopyButton } from "../../kit/CopyButton";
import { JsonEditor } from "../../kit/JsonEditor";
import styles from "./detail.module.css";

/** The definition as its author wrote it. */
export function JsonTab({ workflow }: { workflow: Shape<"WorkflowView"> }) {
  const text = JSON.stringify(workflow.definition, null, 2);
  return (
    <div className={styles["document"]}>
      <div className={styles["bar"]}>
        <span className={styles["muted"]}>
          Version {workflow.version}, {size(text.length)}
        </span>
        <CopyButton label="Copy JSON" text={text} />
        <Button icon={<Download />} onClick={() => download(`${workflow.id}-v${workflow.version}.json`, `${text}\n`)}>
          Download
        </Button>
      </div>
      <JsonEditor label="Definition" value={text} mostLines={1_000} />
    </div>
  );
}

function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
