// What becomes of each field of a type of an official SDK when a request is converted. The tables
// are records over `keyof`, so that a field which a later SDK adds does not compile until somebody
// has decided its fate.

import { expect, test } from "vitest";
import type { JsonObject } from "../../../../src/dispatch/contract/types.ts";

/** A value that asks for something, and where it ends. */
export type Fate =
  | { readonly value: unknown; readonly becomes: JsonObject }
  /** Refused in words that hold these, or the field's name. */
  | { readonly value: unknown; readonly refused: true | string }
  /** The answer is the same without it. */
  | { readonly value: unknown; readonly leftOut: string };

/** Exactly the fields of T, the optional ones too. */
export type Fates<T> = { readonly [K in keyof Required<T>]: Fate };

/**
 * One case a field: `convert` is asked with the field's value; `field` is its path as errors name
 * it.
 */
export function checkFates(
  what: string,
  fates: { readonly [name: string]: Fate },
  convert: (field: string, value: unknown) => JsonObject,
  plain: () => JsonObject,
): void {
  test.each(Object.entries(fates))(`${what}: \`%s\` is converted, refused or left out for a reason`, (name, fate) => {
    if ("refused" in fate) {
      const message = expect.stringContaining(fate.refused === true ? name : fate.refused);
      expect(() => convert(name, fate.value)).toThrow(expect.objectContaining({ code: "INVALID_REQUEST", message }));
    } else if ("leftOut" in fate) {
      expect(fate.leftOut.length).toBeGreaterThan(10);
      expect(convert(name, fate.value)).toEqual(plain());
    } else {
      expect(convert(name, fate.value)).toMatchObject(fate.becomes);
      expect(plain()).not.toMatchObject(fate.becomes);
    }
  });
}
