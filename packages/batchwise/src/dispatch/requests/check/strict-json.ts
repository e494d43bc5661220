// Writes a body as JSON text and refuses values that JSON would silently change: NaN, Infinity and
// array holes become null, functions are dropped, a Map becomes {}. So the text holds exactly what
// the caller wrote. Pure.

import { DispatchError } from "../../contract/errors.ts";
import type { JsonObject } from "../../contract/types.ts";

/** The JSON text of an object. Throws INVALID_REQUEST, naming the path, if a value would change. */
export function jsonOf(body: JsonObject, name: string): string {
  let text: string | undefined;
  let lost: Lost | null;
  try {
    text = JSON.stringify(body);
    lost = lostIn(body);
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

/** The first value that JSON would change, or null. Cheap: it does not read strings. */
function lostIn(value: unknown): Lost | null {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? null : { place: "", what: String(value) };
    case "function":
    case "symbol":
      return { place: "", what: `a ${typeof value}` };
    case "object":
      return value === null ? null : lostInside(value);
    default:
      return null;
  }
}

/** Checks an object. `toJSON` is applied first; an invalid Date becomes null. */
function lostInside(value: object): Lost | null {
  if (Array.isArray(value)) return lostInArray(value);
  const { toJSON } = value as { readonly toJSON?: unknown };
  if (typeof toJSON !== "function") return lostInFields(value as { readonly [name: string]: unknown });
  return JSON.stringify(value) === "null" ? { place: "", what: `an invalid ${value.constructor.name}` } : null;
}

function lostInArray(values: readonly unknown[]): Lost | null {
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index];
    const lost = value === undefined ? { place: "", what: "undefined" } : lostIn(value);
    if (lost !== null) return within(`[${index}]`, lost);
  }
  return null;
}

/** Undefined fields are skipped: JSON leaves them out. */
function lostInFields(value: { readonly [name: string]: unknown }): Lost | null {
  let isEmpty = true;
  for (const name in value) {
    isEmpty = false;
    const lost = lostIn(value[name]);
    if (lost !== null && Object.hasOwn(value, name)) return within(name, lost);
  }
  if (!isEmpty) return null;
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain = prototype === Object.prototype || prototype === null;
  return isPlain ? null : { place: "", what: `a ${(value as object).constructor.name}` };
}

function within(place: string, lost: Lost): Lost {
  const dot = lost.place === "" || lost.place.startsWith("[") ? "" : ".";
  return { place: `${place}${dot}${lost.place}`, what: lost.what };
}
