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
/** Between attempts to get a socket, where there is none. */
const RETRY_MS = 15_000;

const root = document.getElementById("root");
const base = new URL(document.baseURI).pathname.replace(/\/[^/]*$/, "");
const id = location.pathname.slice(base.length).replace(/^\/widgets\//, "");
// A link to the page opens it elsewhere with the same token; what follows "#" is never sent.
const token = location.hash.slice(1);
let shown = "";
let failures = 0;
let reachedAt: number | null = null;
let socket: WebSocket | null = null;
let triedAt = 0;
let timer: ReturnType<typeof setTimeout> | null = null;

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
    const answer = (await response.json()) as WidgetAnswer;
    take(answer);
    // An instance that has ended seldom changes, and a socket tells of each change.
    if (!isOpen(answer)) return SELDOM_MS;
    listen();
    return socket?.readyState === WebSocket.OPEN ? SELDOM_MS : LOOK_MS;
  }
  if (response.status === 429 || response.status >= 500) return later();
  const problem = (await response.json().catch(() => ({}))) as { code?: string; detail?: string; advice?: string };
  show("", { kind: "nothing", text: [problem.code, problem.detail, problem.advice].filter(Boolean).join(" "), isError: true });
  return null;
}

function take(answer: WidgetAnswer): void {
  failures = 0;
  reachedAt = Date.now();
  show(answer.title, contentOf(answer));
  note(null);
}

/** Get the value whenever it changes; where no socket can be had, it is looked at regularly. */
function listen(): void {
  if (socket !== null || Date.now() < triedAt + RETRY_MS) return;
  triedAt = Date.now();
  const address = new URL(`${base}/api/v1/widgets/${id}/ws`, location.href);
  address.protocol = address.protocol.replace("http", "ws");
  address.hash = "";
  try {
    socket = new WebSocket(address, ["tenuto", `tenuto.widget.${token}`]);
  } catch {
    return;
  }
  socket.onmessage = ({ data }) => take(JSON.parse(String(data)) as WidgetAnswer);
  socket.onclose = () => {
    const wasOpen = reachedAt !== null && socket?.protocol !== "";
    socket = null;
    // Why it ended is what the next look shows.
    if (wasOpen) void run();
  };
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
  if (timer !== null) clearTimeout(timer);
  timer = null;
  const wait = await look();
  if (wait === null) return socket?.close();
  if (timer !== null) return;
  timer = setTimeout(() => {
    timer = null;
    if (document.visibilityState === "visible") void run();
    else document.addEventListener("visibilitychange", () => void run(), { once: true });
  }, wait);
}

void run();
