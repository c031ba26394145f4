/** The stored example logs of the engine's own tests, as the API gives them. */

import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { graphOf } from "../src/core/graph";
import type { Json, JsonObject } from "../src/core/json";
import type { LogEntry } from "../src/core/log";
import { planOf, type Plan } from "../src/core/plan";

const FOLDER = resolve(import.meta.dirname, "../../tests/golden");

export interface Golden {
  name: string;
  id: string;
  plan: Plan;
  log: LogEntry[];
  foldsTo: JsonObject;
}

type Row = [
  number,
  string,
  string | null,
  string,
  number,
  string | null,
  string | null,
  string | null,
  string | null,
  number,
];

export function golden(name: string): Golden {
  const stored = JSON.parse(readFileSync(join(FOLDER, `${name}.json`), "utf8")) as {
    instanceId: string;
    definition: Json;
    rows: Row[];
    foldsTo: JsonObject;
  };
  const log = stored.rows.map(
    ([seq, eventType, nodeId, iteration, attempt, nodeStatus, outputVariable, payload, errorMessage, at]) => ({
      seq,
      eventType,
      nodeId,
      iteration,
      attempt: nodeId === null ? null : attempt,
      nodeStatus,
      outputVariable,
      payload: payload === null ? {} : (JSON.parse(payload) as Json),
      errorMessage,
      at: new Date(at).toISOString(),
    }),
  );
  return { name, id: stored.instanceId, plan: planOf(graphOf(stored.definition)), log, foldsTo: stored.foldsTo };
}

export const NAMES = readdirSync(FOLDER)
  .filter((file) => file.endsWith(".json"))
  .map((file) => file.slice(0, -".json".length));
