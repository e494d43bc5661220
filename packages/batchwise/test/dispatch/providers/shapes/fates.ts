// The conversion of each field of an official SDK's type. The tables are records over `keyof`, so
// that a new field fails to compile until it has an entry.

import { expect, test } from "vitest";
import type { JsonObject } from "../../../../src/dispatch/contract/types.ts";

/** A value with an effect, and its place in the converted request. */
export type Fate =
  | { readonly value: unknown; readonly becomes: JsonObject }
  /** Refused with this text, or with the field's name. */
  | { readonly value: unknown; readonly refused: true | string }
  /** Omitted, because the answer is the same. */
  | { readonly value: unknown; readonly leftOut: string };

/** All fields of T, the optional ones too. */
export type Fates<T> = { readonly [K in keyof Required<T>]: Fate };

/** One test per field: `convert` gets the field's value; `field` is its path in errors. */
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
