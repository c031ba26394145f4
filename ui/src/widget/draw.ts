/** Draws a widget with the DOM alone: its page has no framework, so that a dashboard of many stays light. */

import { count } from "../core/format";
import { rangeOf, type WidgetContent, type WidgetSeries } from "../core/widget";
import styles from "./widget.module.css";

const TONES = ["blue", "violet", "green", "amber", "orange", "red", "slate", "neutral"] as const;
const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 600;
const HEIGHT = 200;

/** Replace what a place shows. Everything of the service is text. */
export function draw(place: HTMLElement, title: string, content: WidgetContent): void {
  const heading = element("h1", title, styles["title"]);
  place.replaceChildren(heading, body(content, title));
}

/** Say below a value that it may be old; null: it is as of now. */
export function drawNote(place: HTMLElement, text: string | null, exact = ""): void {
  place.querySelector("[data-note]")?.remove();
  if (text === null) return;
  const note = element("p", text, styles["note"]);
  note.dataset["note"] = "";
  note.title = exact;
  note.setAttribute("role", "status");
  place.append(note);
}

function body(content: WidgetContent, title: string): HTMLElement {
  switch (content.kind) {
    case "number":
      return element("p", content.text, styles["number"]);
    case "text":
      return scrolling(element("pre", content.text, styles["text"]), title);
    case "table": {
      const table = tableOf(content.columns, content.rows);
      const more = content.more > 0 ? [element("p", `${count(content.more)} more`, styles["muted"])] : [];
      return scrolling(inside("div", [table, ...more]), title);
    }
    case "chart":
      return chart(content.series, title);
    case "nothing": {
      const said = element("p", content.text, content.isError ? styles["error"] : styles["muted"]);
      said.setAttribute("role", content.isError ? "alert" : "status");
      return said;
    }
  }
}

function chart(series: readonly WidgetSeries[], title: string): HTMLElement {
  const { least, most } = rangeOf(series);
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${title}: a chart; the table below has its numbers`);
  const y = (value: number): number => HEIGHT - 4 - ((value - least) / (most - least)) * (HEIGHT - 8);
  series.forEach(({ points }, place) => {
    const step = WIDTH / Math.max(points.length - 1, 1);
    const line = document.createElementNS(SVG, "polyline");
    line.setAttribute("class", `${styles["line"]} ${styles[toneOf(place)]}`);
    line.setAttribute("points", points.flatMap(({ y: value }, at) => (value === null ? [] : [`${at * step},${y(value)}`])).join(" "));
    svg.append(line);
  });
  const legend = inside("ul", series.map(({ name }, place) => element("li", name, styles[toneOf(place)])), styles["legend"]);
  const table = tableOf(["", ...series.map(({ name }) => name)], (series[0]?.points ?? []).map(({ x }, at) => [x, ...series.map(({ points }) => String(points[at]?.y ?? "–"))]));
  const details = inside("details", [element("summary", "Table"), scrolling(table, `${title}, table`)], styles["muted"]);
  return inside("figure", [svg as unknown as HTMLElement, legend, details], styles["chart"]);
}

const toneOf = (place: number): (typeof TONES)[number] => TONES[place % TONES.length] ?? "blue";

function tableOf(columns: readonly string[], rows: readonly (readonly string[])[]): HTMLElement {
  const head = inside("thead", [inside("tr", columns.map((name) => element("th", name)))]);
  const lines = inside("tbody", rows.map((row) => inside("tr", row.map((text) => element("td", text)))));
  return inside("table", [head, lines], styles["table"]);
}

/** A part that scrolls, also by keyboard. */
function scrolling(part: HTMLElement, label: string): HTMLElement {
  const place = inside("div", [part], styles["scroll"]);
  place.tabIndex = 0;
  place.setAttribute("role", "group");
  place.setAttribute("aria-label", label);
  return place;
}

function element(name: string, text: string, className?: string): HTMLElement {
  const made = document.createElement(name);
  made.textContent = text;
  if (className !== undefined) made.className = className;
  return made;
}

function inside(name: string, parts: readonly HTMLElement[], className?: string): HTMLElement {
  const made = document.createElement(name);
  made.append(...parts);
  if (className !== undefined) made.className = className;
  return made;
}
