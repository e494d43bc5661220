// Services that take the model and its parameters once for a whole batch: a line holds only the
// data of its request. Pure.

import type { LineRequest } from "../../contract/account.ts";
import type { JsonObject } from "../../contract/types.ts";
import { canonicalJson } from "../../format/canonical.ts";

/** The line of a request, of whose body only these fields stay. */
export function dataLine({ customId, body }: LineRequest, kept: readonly string[]): string {
  return `${JSON.stringify({ custom_id: customId, body: part(body, (name) => kept.includes(name)) })}\n`;
}

/** What the create says once for all requests: everything else in the body. */
export function sharedParams(body: string, kept: readonly string[]): JsonObject {
  return part(body, (name) => !kept.includes(name));
}

/**
 * A text of the parameters besides the model, which is the lane's. Requests share a batch only if
 * it is the same; the order of keys does not count. Null if there are none.
 */
export function groupOfParams(body: JsonObject, kept: readonly string[]): string | null {
  const given = Object.entries(body).filter(([name]) => name !== "model" && !kept.includes(name));
  return given.length === 0 ? null : canonicalJson(Object.fromEntries(given));
}

function part(body: string, isIn: (name: string) => boolean): JsonObject {
  const whole = JSON.parse(body) as JsonObject;
  return Object.fromEntries(Object.entries(whole).filter(([name]) => isIn(name)));
}
