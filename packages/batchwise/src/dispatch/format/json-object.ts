// Values of a JSON text as objects. Pure.

import type { Json, JsonObject } from "../contract/types.ts";

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value as a JSON object, or null if it is none. */
export function jsonObject(value: unknown): JsonObject | null {
  return isJsonObject(value) ? value : null;
}

/** The value as a JSON object; an empty one if it is none. */
export function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The value as an array; an empty one if it is none. */
export function listOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

/** The objects of an array. */
export function objectsOf(value: unknown): JsonObject[] {
  return listOf(value).filter(isJsonObject);
}
