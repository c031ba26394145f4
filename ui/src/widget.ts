/** The page of a widget, `/widgets/{instanceId}#{token}`: one value of one instance, live, in a frame of another page. */

import { contentOf, isOpen, type WidgetAnswer } from "./core/widget";
import "./styles/tokens.css";
import "./styles/base.css";
import "./widget/page.css";
import { exactUtc, moment } from "./core/format";
import { draw, drawNote } from "./widget/draw";

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
let reachedAt: number | null = null;

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
    return later();
  }
  if (response.ok) {
    failures = 0;
    reachedAt = Date.now();
    const answer = (await response.json()) as WidgetAnswer;
    show(answer.title, contentOf(answer));
    note(null);
    return isOpen(answer) ? LOOK_MS : SELDOM_MS;
  }
  if (response.status === 429 || response.status >= 500) return later();
  const problem = (await response.json().catch(() => ({}))) as { code?: string; detail?: string; advice?: string };
  show("", { kind: "nothing", text: [problem.code, problem.detail, problem.advice].filter(Boolean).join(" "), isError: true });
  return null;
}

/** The service does not answer, or not now: what is shown stays, and says how old it is. */
function later(): number {
  if (reachedAt === null) show("", { kind: "nothing", text: "The service cannot be reached; this page tries again.", isError: true });
  else note(`As of ${moment(reachedAt, "local", Date.now())}: the service does not answer, and is tried again.`, exactUtc(reachedAt));
  return Math.min(LOOK_MS * 2 ** failures++, LONGEST_MS);
}

function note(text: string | null, exact = ""): void {
  if (root === null) return;
  drawNote(root, text, exact);
}

async function run(): Promise<void> {
  const wait = await look();
  if (wait === null) return;
  setTimeout(() => {
    if (document.visibilityState === "visible") void run();
    else document.addEventListener("visibilitychange", () => void run(), { once: true });
  }, wait);
}

void run();
