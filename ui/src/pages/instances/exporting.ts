import type { Shape } from "../../api/types";

export type Instance = Shape<"InstanceItem">;

const FIELDS = ["id", "workflow", "version", "status", "key", "steps", "created", "started", "ended", "error", "parent"] as const;
type Row = Record<(typeof FIELDS)[number], string | number>;

/** The first line of what went wrong, or null. */
export function firstErrorLine({ lastError }: Pick<Instance, "lastError">): string | null {
  if (typeof lastError !== "object" || lastError === null) return null;
  const { code, message } = lastError as { code?: unknown; message?: unknown };
  const line = typeof message === "string" ? (message.split("\n", 1)[0] ?? "").slice(0, 300) : "";
  const name = typeof code === "string" ? code : "";
  return [name, line].filter((part) => part !== "").join(": ") || null;
}

function rowOf(item: Instance): Row {
  return {
    id: item.id,
    workflow: item.workflowDefinitionId,
    version: item.definitionVersion,
    status: item.status,
    key: item.correlationId ?? "",
    steps: item.currentSteps.join(" "),
    created: item.createdAt,
    started: item.startedAt ?? "",
    ended: item.completedAt ?? "",
    error: firstErrorLine(item) ?? "",
    parent: item.parentId ?? "",
  };
}

export const asJson = (items: readonly Instance[]): string => `${JSON.stringify(items, null, 2)}\n`;

export function asCsv(items: readonly Instance[]): string {
  const lines = [FIELDS.join(","), ...items.map((item) => FIELDS.map((field) => cell(rowOf(item)[field])).join(","))];
  return `${lines.join("\r\n")}\r\n`;
}

function cell(value: string | number): string {
  if (typeof value === "number") return String(value);
  // A spreadsheet would take these for a formula.
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Hand a text to the browser as a file. */
export function download(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
