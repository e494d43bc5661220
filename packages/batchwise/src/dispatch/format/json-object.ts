// Values of a JSON text as objects. Pure.

import type { JsonObject } from "../contract/types.ts";

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value as a JSON object, or null if it is none. */
export function jsonObject(value: unknown): JsonObject | null {
  return isJsonObject(value) ? value : null;
}
