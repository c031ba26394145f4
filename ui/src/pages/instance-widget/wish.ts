/** What a widget is asked to show, as the form has it and as the service takes it. */

export const TYPES = ["number", "text", "table", "chart"] as const;
export type WidgetType = (typeof TYPES)[number];

export interface WidgetWish {
  type: WidgetType;
  path: string;
  format: string;
  /** Of a table: its columns; of a chart: its lines. Separated by commas. */
  names: string;
  /** Of a chart. */
  x: string;
}

export const FORMATS: Readonly<Record<WidgetType, readonly string[]>> = { number: ["number", "integer", "percent"], text: ["text", "json"], table: [], chart: [] };

/** The config of a wish: only what its type has, and what was given. */
export function configOf({ type, path, format, names, x }: WidgetWish): Record<string, unknown> {
  const parts = names.split(",").map((name) => name.trim()).filter((name) => name !== "");
  return {
    path: path.trim(),
    ...(FORMATS[type].includes(format) ? { format } : {}),
    ...(type === "table" && parts.length > 0 ? { columns: parts } : {}),
    ...(type === "chart" && parts.length > 0 ? { y: parts } : {}),
    ...(type === "chart" && x.trim() !== "" ? { x: x.trim() } : {}),
  };
}

/** The element that shows a widget in another page. */
export const embedCode = (url: string): string => `<iframe src="${url}" title="Tenuto widget" width="480" height="280" style="border: 0" loading="lazy"></iframe>`;
