import type { Json } from "../../../core/json";

/** The value of a JSON text, or that it is none. */
export function parsed(text: string): { isWrong: false; value: Json } | { isWrong: true } {
  try {
    return { isWrong: false, value: JSON.parse(text) as Json };
  } catch {
    return { isWrong: true };
  }
}
