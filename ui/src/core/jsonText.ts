/** A JSON value that is edited as text and as fields: the text is the truth, so that both always show the same. */

import type { Json } from "./json";

export type ReadText = { isValid: true; value: Json | undefined } | { isValid: false; problem: string };

/** The value of a text; an empty one has none. */
export function readText(text: string): ReadText {
  if (text.trim() === "") return { isValid: true, value: undefined };
  try {
    return { isValid: true, value: JSON.parse(text) as Json };
  } catch (error) {
    return { isValid: false, problem: `This is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

export function writeText(value: Json | undefined): string {
  return value === undefined ? "" : JSON.stringify(value, null, 2);
}

/** A text from an address, laid out; one that is no JSON stays as it is, to be mended. */
export function laidOut(text: string): string {
  const read = readText(text);
  return read.isValid ? writeText(read.value) : text;
}
