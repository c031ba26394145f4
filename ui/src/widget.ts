/** The page of a widget, `/widgets/{instanceId}#{token}`: one value of one instance, live, in a frame of another page. */

import { contentOf, isOpen, type WidgetAnswer } from "./core/widget";
import "./styles/tokens.css";
import "./styles/base.css";
import "./widget/page.css";
import { draw } from "./widget/draw";

const LOOK_MS = 2_000;
const SELDOM_MS = 60_000;
const LONGEST_MS = 30_000;

const root = document.getElementById("root");
const base = new URL(document.baseURI).pathname.replace(/\/[^/]*$/, "");
const id = location.pathname.slice(base.length).replace(/^\/widgets\//, "");
// A link to the page opens it elsewhere with the same token; what follows "#" is never sent.
const token = location.hash.slice(1);
let shown = "";
let failures = 0;

function show(title: string, content: ReturnType<typeof contentOf>): void {
  const next = JSON.stringify([title, content]);
  if (root === null || next === shown) return;
  shown = next;
  draw(root, title, content);
}

/** Reads the value and shows it; when to look again, in milliseconds, or null: never. */
async function look(): Promise<number | null> {
  let response: Response;
  try {
    response = await fetch(`${base}/api/v1/widgets/${id}`, { headers: { "tenuto-widget-token": token }, credentials: "omit" });
  } catch {
    if (shown === "") show("", { kind: "nothing", text: "The service cannot be reached; this page tries again.", isError: true });
    return later();
  }
  if (response.ok) {
    failures = 0;
    const answer = (await response.json()) as WidgetAnswer;
    show(answer.title, contentOf(answer));
    return isOpen(answer) ? LOOK_MS : SELDOM_MS;
  }
  if (response.status === 429 || response.status >= 500) return later();
  const problem = (await response.json().catch(() => ({}))) as { code?: string; detail?: string; advice?: string };
  show("", { kind: "nothing", text: [problem.code, problem.detail, problem.advice].filter(Boolean).join(" "), isError: true });
  return null;
}

const later = (): number => Math.min(LOOK_MS * 2 ** failures++, LONGEST_MS);

async function run(): Promise<void> {
  const wait = await look();
  if (wait === null) return;
  setTimeout(() => {
    if (document.visibilityState === "visible") void run();
    else document.addEventListener("visibilitychange", () => void run(), { once: true });
  }, wait);
}

void run();
