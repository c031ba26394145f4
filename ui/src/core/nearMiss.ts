/** The parts of a condition that were false for an event, and what in its payload would make them true. */

import type { Path } from "./form";
import { asArray, asObject, asText, type Json } from "./json";

export interface FailedPart {
  expression: string;
  left: Json;
  right: Json;
  /** Why it could not be evaluated; null where it was false. */
  error: string | null;
  /** The comparison between the two sides; null where there is none. */
  operator: string | null;
}

export interface Correction {
  /** Where in the payload. */
  path: Path;
  value: Json;
}

export function failedParts(failed: unknown): FailedPart[] {
  return asArray(failed)
    .map(asObject)
    .map((each) => {
      const expression = asText(each["expression"]) ?? "";
      return {
        expression,
        left: each["left"] ?? null,
        right: each["right"] ?? null,
        error: asText(each["error"]),
        operator: operatorOf(expression),
      };
    });
}

/** The comparison of an expression that has just one, outside of text and brackets. */
function operatorOf(expression: string): string | null {
  const plain = expression.replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, (text) => "_".repeat(text.length));
  if (/&&|\|\||=>|\?/.test(plain)) return null;
  const found = [...plain.matchAll(/===|!==|==|!=|<=|>=|<|>/g)];
  return found.length === 1 ? (found[0]?.[0] ?? null) : null;
}

const PAYLOAD = /^\s*event\.payload((?:\.[A-Za-z_$][\w$]*|\[\d{1,6}\])+)\s*$/;

/** What to set in the payload so that an equality holds; null where the part is no equality with one of its values. */
export function correctionOf(part: FailedPart): Correction | null {
  if (part.error !== null || (part.operator !== "===" && part.operator !== "==")) return null;
  const [left = "", right = ""] = part.expression.split(part.operator);
  for (const [side, value] of [
    [left, part.right],
    [right, part.left],
  ] as const) {
    const path = PAYLOAD.exec(side)?.[1];
    if (path !== undefined) return { path: pathOf(path), value };
  }
  return null;
}

function pathOf(text: string): Path {
  return [...text.matchAll(/\.([\w$]+)|\[(\d+)\]/g)].map((part) => part[1] ?? Number(part[2]));
}
