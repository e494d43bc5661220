// A body's JSON text, unless it would quietly say something else: JSON turns NaN, Infinity and what is missing in an
// array into null, and a Map into {}. What a caller did not write must not be sent. Pure.

import { DispatchError } from "./errors.ts";
import type { JsonObject } from "./types.ts";

/** The JSON text of an object; INVALID_REQUEST, naming the place, where a value in it became another. */
export function jsonOf(body: JsonObject, name: string): string {
  let text: string | undefined;
  let lost: Lost | null = null;
  try {
    text = JSON.stringify(body);
    // Most texts have neither word in them, so that nothing needs to be looked at.
    if (text?.includes("null") || text?.includes("{}")) lost = lostIn(body);
  } catch (cause) {
    throw new DispatchError("INVALID_REQUEST", `${name} must be JSON.`, cause);
  }
  if (text !== undefined && lost === null) return text;
  const why = lost === null ? "" : `: \`${lost.place}\` is ${lost.what}`;
  throw new DispatchError("INVALID_REQUEST", `${name} must be JSON${why}.`);
}

interface Lost {
  readonly place: string;
  readonly what: string;
}

/** The first value that became another. Fields that are undefined or functions are left out, as JSON always does. */
function lostIn(value: unknown): Lost | null {
  if (typeof value === "number" && !Number.isFinite(value)) return { place: "", what: String(value) };
  if (typeof value !== "object" || value === null) return null;
  if ("toJSON" in value && typeof value.toJSON === "function") return lostInMade(value);
  return Array.isArray(value) ? lostInArray(value) : lostInObject(value);
}

/** What has `toJSON` is what that makes of it; of an invalid Date it makes null. */
function lostInMade(value: object): Lost | null {
  return JSON.stringify(value) === "null" ? { place: "", what: `an invalid ${value.constructor.name}` } : null;
}

function lostInArray(values: readonly unknown[]): Lost | null {
  for (const [index, value] of values.entries()) {
    const isLeftOut = value === undefined || typeof value === "function" || typeof value === "symbol";
    const lost = isLeftOut ? { place: "", what: typeof value } : lostIn(value);
    if (lost !== null) return within(`[${index}]`, lost);
  }
  return null;
}

function lostInObject(value: object): Lost | null {
  const fields = Object.entries(value);
  for (const [name, field] of fields) {
    const lost = lostIn(field);
    if (lost !== null) return within(name, lost);
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain = prototype === Object.prototype || prototype === null;
  return fields.length > 0 || isPlain ? null : { place: "", what: `a ${value.constructor.name}` };
}

function within(place: string, lost: Lost): Lost {
  const dot = lost.place === "" || lost.place.startsWith("[") ? "" : ".";
  return { place: `${place}${dot}${lost.place}`, what: lost.what };
}
