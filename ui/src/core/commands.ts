/** "Copy as curl, command line, Python" of what a page does. Keys are never written, only named. */

import type { Json, JsonObject } from "./json";

export type Action =
  | {
      kind: "start";
      workflow: string;
      input?: Json;
      key?: string;
      correlationId?: string;
      priority?: number;
      /** A moment in ISO 8601. */
      deadline?: string;
      version?: number;
    }
  | { kind: "publish"; pattern: string; payload?: Json; id?: string; correlationId?: string; dryRun?: boolean }
  | { kind: "cancel"; id: string; reason?: string; shouldCompensate?: boolean }
  | { kind: "pause"; id: string; reason?: string }
  | { kind: "resume"; id: string }
  | { kind: "retry"; id: string }
  | { kind: "rerun"; id: string; fromStep?: string; input?: Json; version?: number }
  | {
      kind: "decide";
      id: string;
      step: string;
      iteration?: string;
      decision: "approved" | "rejected";
      by?: string;
      form?: Json;
    };

/** The server that an action is sent to. */
export interface Place {
  /** Such as `https://tenuto.example/flows`, without a slash at the end. */
  url: string;
  needsKey: boolean;
}

interface Request {
  path: string;
  body: JsonObject;
  headers: Record<string, string>;
}

export function asCurl(action: Action, place: Place): string {
  const { path, body, headers } = requestOf(action);
  const lines = [`curl -X POST ${shell(`${place.url}/api/v1${path}`)}`];
  if (place.needsKey) lines.push('-H "authorization: Bearer $TENUTO_KEY"');
  lines.push("-H 'content-type: application/json'");
  for (const [name, value] of Object.entries(headers)) lines.push(`-H ${shell(`${name}: ${value}`)}`);
  lines.push(`-d ${shell(JSON.stringify(body))}`);
  return lines.join(" \\\n  ");
}

function requestOf(action: Action): Request {
  const at = (...parts: string[]) => `/${parts.map(encodeURIComponent).join("/")}`;
  switch (action.kind) {
    case "start": {
      const { kind: _, workflow, key, ...body } = action;
      const headers: Record<string, string> = key === undefined ? {} : { "idempotency-key": key };
      return { path: at("workflows", workflow, "start"), body: given(body), headers };
    }
    case "publish": {
      const { pattern, payload, id, correlationId, dryRun } = action;
      const path = dryRun ? "/events?dryRun=true" : "/events";
      return { path, body: given({ id, pattern, payload, correlationId }), headers: {} };
    }
    case "decide": {
      const { id, step, decision, form, iteration, by } = action;
      const path = at("instances", id, "steps", step, "decision");
      return { path, body: given({ decision, form, iteration: iteration || undefined, by }), headers: {} };
    }
    default: {
      const { kind, id, ...body } = action;
      return { path: at("instances", id, kind), body: given(body), headers: {} };
    }
  }
}

function given(fields: { [name: string]: Json | undefined }): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter((entry): entry is [string, Json] => entry[1] !== undefined));
}

export function asCommand(action: Action, place: Place): string {
  const words = ["tenuto", ...commandOf(action), "--server", place.url];
  const line = words.map(shell).join(" ");
  return place.needsKey ? `TENUTO_KEY=… ${line}` : line;
}

function commandOf(action: Action): string[] {
  const option = (name: string, value: string | number | undefined) =>
    value === undefined ? [] : [`--${name}`, String(value)];
  const json = (name: string, value: Json | undefined) =>
    value === undefined ? [] : [`--${name}`, JSON.stringify(value)];
  switch (action.kind) {
    case "start":
      return [
        "start",
        ...positional(action.workflow),
        ...json("input", action.input),
        ...option("key", action.key),
        ...option("correlation-id", action.correlationId),
        ...option("priority", action.priority),
        ...option("deadline", action.deadline),
        ...option("version", action.version),
      ];
    case "publish":
      return [
        "events",
        "send",
        ...positional(action.pattern),
        ...(action.payload === undefined ? [] : [JSON.stringify(action.payload)]),
        ...option("id", action.id),
        ...option("correlation-id", action.correlationId),
        ...(action.dryRun ? ["--dry-run"] : []),
      ];
    case "cancel":
      return [
        "cancel",
        action.id,
        ...option("reason", action.reason),
        ...(action.shouldCompensate === false ? ["--no-compensation"] : []),
      ];
    case "pause":
      return ["pause", action.id, ...option("reason", action.reason)];
    case "rerun":
      return [
        "rerun",
        action.id,
        ...option("from", action.fromStep),
        ...json("input", action.input),
        ...option("version", action.version),
      ];
    case "decide":
      return [
        "decide",
        action.id,
        ...positional(action.step),
        action.decision,
        ...option("by", action.by ?? "NAME"),
        ...json("form", action.form),
        ...option("iteration", action.iteration || undefined),
      ];
    default:
      return [action.kind, action.id];
  }
}

/** A word that begins with a hyphen is not an option. */
function positional(word: string): string[] {
  return word.startsWith("-") ? ["--", word] : [word];
}

export function asPython(action: Action, place: Place): string {
  const key = place.needsKey ? ', key=os.environ["TENUTO_KEY"]' : "";
  const imports = [
    ...(place.needsKey ? ["import os"] : []),
    ...(action.kind === "start" && action.deadline !== undefined ? ["from datetime import datetime"] : []),
  ];
  return [
    ...(imports.length > 0 ? [...imports, ""] : []),
    "from tenuto import SyncClient",
    "",
    `with SyncClient(${python(place.url)}${key}) as client:`,
    `    ${callOf(action)}`,
  ].join("\n");
}

function callOf(action: Action): string {
  const call = (target: string, args: (string | null)[]) =>
    `${target}(${args.filter((each) => each !== null).join(", ")})`;
  const named = (name: string, value: Json | undefined) => (value === undefined ? null : `${name}=${python(value)}`);
  const plain = (value: Json | undefined) => (value === undefined ? null : python(value));
  const instance = "id" in action && action.id !== undefined ? `client.at(${python(action.id)})` : "";
  switch (action.kind) {
    case "start":
      return `instance = ${call("client.start", [
        python(action.workflow),
        plain(action.input),
        named("key", action.key),
        named("correlation_id", action.correlationId),
        named("priority", action.priority),
        action.deadline === undefined ? null : `deadline=datetime.fromisoformat(${python(action.deadline)})`,
        named("version", action.version),
      ])}\n    print(instance.id)`;
    case "publish":
      return `print(${call("client.publish", [
        python(action.pattern),
        plain(action.payload),
        named("id", action.id),
        named("correlation_id", action.correlationId),
        action.dryRun ? "dry_run=True" : null,
      ])})`;
    case "cancel":
      return call(`${instance}.cancel`, [
        plain(action.reason),
        action.shouldCompensate === false ? "should_compensate=False" : null,
      ]);
    case "pause":
      return call(`${instance}.pause`, [plain(action.reason)]);
    case "rerun":
      return `print(${call(`${instance}.rerun`, [
        plain(action.fromStep),
        named("input", action.input),
        named("version", action.version),
      ])}.id)`;
    case "decide":
      return call(`${instance}.decide`, [
        python(action.step),
        python(action.decision),
        named("by", action.by),
        named("form", action.form),
        named("iteration", action.iteration || undefined),
      ]);
    default:
      return call(`${instance}.${action.kind}`, []);
  }
}

/** A word of a POSIX shell. */
export function shell(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A literal of Python. */
export function python(value: Json): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "None";
  if (typeof value === "string") return pythonText(value);
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  return `{${Object.entries(value)
    .map(([name, each]) => `${pythonText(name)}: ${python(each)}`)
    .join(", ")}}`;
}

/** What a terminal could take for more than text is escaped. */
function pythonText(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]/gu,
    (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
