// Fields that a user adds to creates and uploads: an object, or a function of the batch. Fields
// that the account itself sets are refused, either at creation or before the call.

import { isError } from "../../../core/contract/errors.ts";
import { expected, invalidOption, type Rule } from "../../../core/contract/validate.ts";
import type { JsonObject } from "../../contract/types.ts";
import { jsonObject } from "../shapes/sdk/sdk-error.ts";

/** Fields to add, or a function that returns them. It must return the same for the same batch. */
export type Extras<Facts> = JsonObject | ((batch: Facts) => JsonObject);

const EXTRAS: Rule = { expected: "an object, or a function that gives one", type: "object", test: () => false };

/** Thrown instead of a call with invalid extras: nothing was sent. */
export class ExtrasError extends Error {}

/** A function that returns the fields for a batch. `reserved`: the account's own fields. */
export function resolveExtras<Facts>(
  name: string,
  extras: Extras<Facts> | undefined,
  reserved: readonly string[],
): (facts: Facts) => JsonObject {
  if (extras === undefined) return () => ({});
  if (typeof extras === "function") {
    return (facts) => {
      try {
        return checked(name, extras(facts), reserved);
      } catch (error) {
        const message = isError(error) ? error.message : String(error);
        throw new ExtrasError(`\`${name}\` failed: ${message}`, { cause: error });
      }
    };
  }
  const fixed = checked(name, extras, reserved);
  return () => fixed;
}

function checked(name: string, extras: unknown, reserved: readonly string[]): JsonObject {
  const object = jsonObject(extras);
  if (object === null) throw expected(name, EXTRAS, extras);
  const taken = reserved.find((field) => object[field] !== undefined);
  if (taken === undefined) return object;
  throw invalidOption(TypeError, `Expected \`${name}\` without \`${taken}\`, which the account sets itself`);
}
