// Checks user input. Every message names the expected and the actual value; a misspelt option gets
// the most similar name. Wrong type: TypeError. Out of range: RangeError. Both carry
// `code: "INVALID_OPTION"`.

import { describe, namelessError } from "./errors.ts";
import { FOREIGN_NAMES, plainName } from "./foreign-names.ts";

/** The rule of a value. A failed `type` is a TypeError, a failed `test` a RangeError. */
export interface Rule {
  readonly expected: string;
  readonly type: "number" | "string" | "boolean" | "function" | "object";
  readonly test: (value: never) => boolean;
  /** True for a value that is valid in any case; the rest of the rule is then not checked. */
  readonly or?: (value: unknown) => boolean;
}

/** The part of a rule that a message needs. */
type Expected = Pick<Rule, "expected" | "type"> & Partial<Rule>;

const always = (): boolean => true;

/** True for a valid cost of an item. */
export function isCost(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value < Infinity;
}

export const finiteIntegerFrom = (least: number): Rule => ({
  expected: `an integer >= ${least}`,
  type: "number",
  test: (value: number) => value >= least && Number.isInteger(value),
});

export const unboundedIntegerFrom = (least: number): Rule => ({
  expected: `an integer >= ${least} or Infinity`,
  type: "number",
  test: (value: number) => value >= least && (Number.isInteger(value) || value === Infinity),
});

export const aboveZero: Rule = { expected: "a number > 0", type: "number", test: (value: number) => value > 0 };
export const zeroOrMore: Rule = { expected: "a number >= 0", type: "number", test: (value: number) => value >= 0 };
export const anyNumber: Rule = { expected: "a number", type: "number", test: (value: number) => !Number.isNaN(value) };
export const aCost: Rule = { expected: "a finite number >= 0", type: "number", test: isCost };
export const aFunction: Rule = { expected: "a function", type: "function", test: always };
export const aBoolean: Rule = { expected: "a boolean", type: "boolean", test: always };
export const aString: Rule = { expected: "a string", type: "string", test: always };

export const oneOf = (...allowed: readonly string[]): Rule => ({
  expected: allowed.map((value) => `"${value}"`).join(" or "),
  type: "string",
  test: (value: string) => allowed.includes(value),
});

/** The same rule for a value that may be a function instead. */
export const orFunction = (rule: Rule): Rule => ({
  ...rule,
  expected: `${rule.expected} or a function`,
  or: (value) => typeof value === "function",
});

/** An object with these methods. */
export const objectWith = (...methods: readonly string[]): Rule => ({
  expected: methods.length === 0 ? "an object" : `an object with ${methods.join(", ")}`,
  type: "object",
  test: (value: Record<string, unknown>) => methods.every((method) => typeof value[method] === "function"),
});

const anObject: Rule = objectWith();
export const anArray: Rule = { ...anObject, expected: "an array" };

/** A TypeError or RangeError with the code of option mistakes. */
export function invalidOption(Kind: typeof TypeError | typeof RangeError, message: string): Error {
  return namelessError(Object.assign(new Kind(message), { code: "INVALID_OPTION" }));
}

export function expected(
  name: string,
  rule: Expected,
  value: unknown,
  Kind: typeof TypeError | typeof RangeError = isOfType(rule, value) && rule.type !== "object" ? RangeError : TypeError,
): Error {
  return invalidOption(Kind, `Expected \`${name}\` to be ${rule.expected}, got ${describe(value)}`);
}

/** The same for a value that a user's function returned: always a RangeError. */
export function rangeError(name: string, rule: Expected, value: unknown): Error {
  return expected(name, rule, value, RangeError);
}

/** Throws unless the value follows the rule. */
export function check(name: string, rule: Rule, value: unknown): void {
  if (rule.or?.(value) || (isOfType(rule, value) && rule.test(value as never))) return;
  throw expected(name, rule, value);
}

function isOfType({ type }: Expected, value: unknown): boolean {
  return typeof value === type && value !== null;
}

/**
 * Throws for an unknown name. The message has the hint for it, our name for another library's, or
 * the nearest known name. `hints`: answers by names; several names are separated by spaces.
 */
export function refuseUnknown(
  options: object,
  known: readonly string[],
  prefix = "",
  hints: Readonly<Record<string, string>> = {},
): void {
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    throw invalidOption(TypeError, `Unknown option \`${prefix}${name}\`${answerTo(name, known, prefix, hints)}`);
  }
}

/** Options of batchers, of submits and of `retry` have the first, second and third of these. */
const OF_BATCHERS = ["maxBatchSize", "priority", "attempts"] as const;

function answerTo(
  name: string,
  known: readonly string[],
  prefix: string,
  hints: Readonly<Record<string, string>>,
): string {
  const theirs = plainName(name);
  const hinted = (isIt: (other: string) => boolean): string | undefined =>
    Object.keys(hints).find((names) => names.split(" ").some(isIt));
  const hint = hinted((other) => other === name) ?? hinted((other) => plainName(other) === theirs);
  if (hint !== undefined) return `: ${hints[hint]}`;
  if (OF_BATCHERS.some((ours) => known.includes(ours))) {
    const mayBelongElsewhere = known.includes(OF_BATCHERS[0]) && !known.some((own) => plainName(own) === theirs);
    const isKnown = (ours: string | undefined): boolean => (ours ? known.includes(ours) : mayBelongElsewhere);
    const row = FOREIGN_NAMES.find(([names, , ours]) => names.split(" ").includes(theirs) && isKnown(ours));
    if (row !== undefined) {
      const [, meaning, ours] = row;
      return ours ? `: it is \`${prefix}${ours}\` here${factorOf(name, ours)}: ${meaning}` : `: ${meaning}`;
    }
  }
  const nearest = nearestOf(name.replaceAll("_", "").toLowerCase(), known);
  return nearest === undefined ? `. Expected one of ${known.join(", ")}` : `, did you mean \`${prefix}${nearest}\`?`;
}

/** How another library's unit of time becomes ours, by the ends of both names. */
function factorOf(theirs: string, ours: string): string {
  if (!ours.endsWith("Ms") || !/_s$|seconds$/i.test(theirs)) return "";
  return /micro/i.test(theirs) ? " (microseconds / 1,000)" : " (seconds x 1,000)";
}

/**
 * Explanations for a number in place of options: for a call for one item, a method of `batched` and
 * a maker of batchers.
 */
export const BY_INDEX_OF_METHOD = ": `list.map(fn)` passes the index as options. Write `list.map((x) => fn(x))`";
export const BY_INDEX: string = `${BY_INDEX_OF_METHOD} or \`fn.submitMany(list)\``;
export const AS_SIZE = ": write `{ maxBatchSize: 32 }`";

/**
 * Throws unless `options` is an object; undefined counts as an empty one. `ofNumber`: added to the
 * error for a number.
 */
export function checkIsObject(
  name: string,
  options: unknown,
  ofNumber: string = "",
): asserts options is object | undefined {
  if (options === undefined || (typeof options === "object" && options !== null && !Array.isArray(options))) return;
  const error = expected(name, anObject, options);
  if (typeof options === "number") error.message += ofNumber;
  throw error;
}

/** The nearest known name, if it takes few enough edits to be a typing error. */
export function nearestOf(name: string, known: readonly string[]): string | undefined {
  let nearest: string | undefined;
  let fewest = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const edits = editDistance(name, candidate.toLowerCase());
    if (edits < fewest) [nearest, fewest] = [candidate, edits];
  }
  return nearest;
}

/** Levenshtein's distance: insertions, deletions and replacements. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = (previous[column - 1] as number) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] as number) + 1, (current[column - 1] as number) + 1));
    }
    previous = current;
  }
  return previous[b.length] as number;
}
