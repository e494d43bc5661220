// JSON text in which the order of keys does not count, at any depth. Pure.

import type { Json } from "../contract/types.ts";

/** The text with sorted keys. Undefined fields are left out, as in every body. */
export function canonicalJson(value: Json): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
