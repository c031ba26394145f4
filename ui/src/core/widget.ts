/** What a widget shows of an answer: checked, bounded, and as text. */

export interface WidgetAnswer {
  widgetType: string;
  title: string;
  format: string;
  status: string;
  ready: boolean;
  data: unknown;
  error?: string;
}

export interface WidgetSeries {
  name: string;
  points: readonly { x: string; y: number | null }[];
}

export type WidgetContent =
  | { kind: "number"; text: string }
  | { kind: "text"; text: string }
  | { kind: "table"; columns: readonly string[]; rows: readonly (readonly string[])[]; more: number }
  | { kind: "chart"; series: readonly WidgetSeries[] }
  | { kind: "nothing"; text: string; isError: boolean };

const MOST_ROWS = 200;
const MOST_CELL = 300;
const FINAL = ["COMPLETED", "FAILED", "CANCELLED"];

/** Whether the value may still come or change. */
export const isOpen = ({ status }: Pick<WidgetAnswer, "status">): boolean => !FINAL.includes(status);

export function contentOf(answer: WidgetAnswer): WidgetContent {
  const { widgetType, data, format } = answer;
  if (answer.error !== undefined) return { kind: "nothing", text: answer.error, isError: true };
  if (!answer.ready || !isRecord(data)) return { kind: "nothing", text: "Waiting for the value", isError: false };
  switch (widgetType) {
    case "number":
      return { kind: "number", text: typeof data["value"] === "number" ? numberText(data["value"], format) : cell(data["value"]) };
    case "text":
      return { kind: "text", text: String(data["text"] ?? "") };
    case "table": {
      const rows = list(data["rows"]);
      return {
        kind: "table",
        columns: list(data["columns"]).map(cell),
        rows: rows.slice(0, MOST_ROWS).map((row) => list(row).map(cell)),
        more: Math.max(0, rows.length - MOST_ROWS),
      };
    }
    case "chart":
      return { kind: "chart", series: list(data["series"]).filter(isRecord).map(seriesOf) };
    default:
      return { kind: "nothing", text: `This page does not know widgets of the type ${widgetType}.`, isError: true };
  }
}

function seriesOf(given: Record<string, unknown>): WidgetSeries {
  const points = list(given["points"]).filter(isRecord);
  return { name: cell(given["name"]), points: points.map(({ x, y }) => ({ x: cell(x), y: typeof y === "number" ? y : null })) };
}

/** A number as its format says; a share of the whole is already in percent. */
export function numberText(value: number, format: string): string {
  const digits = format === "integer" ? 0 : Math.abs(value) >= 1_000 ? 1 : 3;
  const text = new Intl.NumberFormat("en-GB", { maximumFractionDigits: digits }).format(value);
  return format === "percent" ? `${text} %` : text;
}

/** The least and greatest of a chart; 0 is always within, so that bars can be compared. */
export function rangeOf(series: readonly WidgetSeries[]): { least: number; most: number } {
  let least = 0;
  let most = 0;
  for (const { points } of series) {
    for (const { y } of points) {
      if (y === null) continue;
      least = Math.min(least, y);
      most = Math.max(most, y);
    }
  }
  return { least, most: most === least ? least + 1 : most };
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function cell(value: unknown): string {
  if (value === null || value === undefined) return "–";
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.length > MOST_CELL ? `${text.slice(0, MOST_CELL)}…` : text;
}
