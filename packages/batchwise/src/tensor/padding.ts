// Checks the options of padding.

import { check, finiteIntegerFrom, invalidOption, oneOf, type Rule } from "../core/contract/validate.ts";
import type { PaddingSide, PadToken } from "./types.ts";

const aMultiple: Rule = { ...finiteIntegerFrom(1), expected: "an integer >= 1, or a list of them" };
const aSide: Rule = oneOf("right", "left");

export function checkPaddingSide(side: PaddingSide = "right"): PaddingSide {
  check("paddingSide", aSide, side);
  return side;
}

export function checkToken(name: string, token: unknown): asserts token is PadToken {
  if (["number", "bigint", "boolean", "string"].includes(typeof token)) return;
  throw invalidOption(TypeError, `Expected \`${name}\` to be a number, bigint, boolean or string, got ${typeof token}`);
}

/** The multiples of the dimensions after the rows. A number applies to the first of them. */
export function multiplesOf(name: string, given: number | readonly number[] | undefined): readonly number[] {
  if (given === undefined) return [];
  const multiples = Array.isArray(given) ? (given as readonly number[]) : [given as number];
  for (const multiple of multiples) check(name, aMultiple, multiple);
  return [...multiples];
}
