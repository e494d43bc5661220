// The options of a simulation, checked and filled in once.

import type { BatchOptions } from "../core/contract/options.ts";
import type { SubmitOptions } from "../core/contract/types.ts";
import {
  aboveZero,
  aFunction,
  check,
  checkIsObject,
  finiteIntegerFrom,
  objectWith,
  oneOf,
  type Rule,
  refuseUnknown,
  zeroOrMore,
} from "../core/contract/validate.ts";
import type { Clock } from "../core/time/clock.ts";
import { type Arrivals, BURSTS } from "./arrivals.ts";
import type { Service } from "./service.ts";

/** Options of a batcher, except clock and randomness, which the simulation supplies. */
export type SimulationBatcherOptions<Item> = Omit<BatchOptions<Item, unknown>, "clock" | "random" | "cache">;

/** A run to simulate. Durations are in milliseconds of virtual time. */
export interface SimulateOptions<Item = number> {
  readonly arrivals: Arrivals;
  readonly service: Service;
  /**
   * Options of the batcher, or a function of the clock if they contain a rate limiter. Default:
   * none.
   */
  readonly options?: SimulationBatcherOptions<Item> | ((clock: Clock) => SimulationBatcherOptions<Item>) | undefined;
  /** Time in which items arrive, > 0. Items that wait at its end are still served. */
  readonly durationMs: number;
  /** Items submitted before this are not counted. Default 0. */
  readonly warmUpMs?: number | undefined;
  /** Integer >= 0. The same seed gives the same report. Default 1. */
  readonly seed?: number | undefined;
  /**
   * The latency target that defines goodput. Default: the smaller of the options'
   * `targetLatencyMs` and `timeoutMs`, else Infinity.
   */
  readonly targetMs?: number | undefined;
  /**
   * Most submits per caller. A caller whose submit is refused with a retryable error submits again
   * after the error's `retryAfterMs`, or after `retryMs` if it has none. Integer >= 1. Default 1.
   */
  readonly attempts?: number | undefined;
  /** Pause before a further submit. Default 100. */
  readonly retryMs?: number | undefined;
  /** Makes an item from its number and random numbers. Default: the number. */
  readonly item?: ((index: number, random: () => number) => Item) | undefined;
  /** The options of an item's submit. Default: none. */
  readonly submit?: ((item: Item) => SubmitOptions | undefined) | undefined;
}

/** The resolved options of a simulation; the batcher's are as given. */
export interface ResolvedSimulation {
  readonly arrivals: Arrivals;
  readonly service: Service;
  readonly options: SimulateOptions<unknown>["options"];
  readonly durationMs: number;
  readonly warmUpMs: number;
  readonly seed: number;
  readonly targetMs: number | undefined;
  readonly attempts: number;
  readonly retryMs: number;
  readonly item: (index: number, random: () => number) => unknown;
  readonly submit: ((item: unknown) => SubmitOptions | undefined) | undefined;
}

type Rules = Readonly<Record<string, Rule>>;

const aList: Rule = { ...objectWith(), expected: "an array of at least one", test: isList };
const share: Rule = {
  expected: "a number from 0 to 1",
  type: "number",
  test: (value: number) => value >= 0 && value <= 1,
};
const finiteAboveZero: Rule = {
  expected: "a finite number > 0",
  type: "number",
  test: (value: number) => value > 0 && value < Infinity,
};
const finiteFromZero: Rule = {
  ...finiteAboveZero,
  expected: "a finite number >= 0",
  test: (value: number) => value >= 0 && value < Infinity,
};

function isList(value: object): boolean {
  return Array.isArray(value) && value.length > 0;
}

const ARRIVALS: Readonly<Record<string, Rules>> = {
  poisson: { perSecond: finiteAboveZero },
  bursts: {
    perSecond: finiteAboveZero,
    factor: { ...finiteAboveZero, expected: "a number >= 1", test: (value: number) => value >= 1 && value < Infinity },
    burstMs: finiteAboveZero,
    restMs: finiteAboveZero,
    lengths: oneOf("fixed", "random"),
  },
  bunches: { perSecond: finiteAboveZero, size: finiteIntegerFrom(1) },
  curve: { points: aList },
  times: { atMs: aList },
  closed: { callers: finiteIntegerFrom(1), thinkMs: finiteFromZero },
};

const SERVICES: Readonly<Record<string, Rules>> = {
  line: { fixedMs: finiteFromZero, itemMs: finiteFromZero },
  table: { points: aList },
  steps: { fixedMs: finiteFromZero, stepMs: finiteFromZero, stepSize: finiteAboveZero },
  function: { runMs: aFunction },
};

const TROUBLES: Rules = { noise: finiteFromZero, stalls: objectWith(), changes: aList, failures: objectWith() };

const RUN: Rules = {
  arrivals: objectWith(),
  service: objectWith(),
  durationMs: finiteAboveZero,
  warmUpMs: zeroOrMore,
  seed: finiteIntegerFrom(0),
  targetMs: aboveZero,
  attempts: finiteIntegerFrom(1),
  retryMs: finiteFromZero,
  item: aFunction,
  submit: aFunction,
};

const REQUIRED: ReadonlySet<string> = new Set([
  ...["arrivals", "service", "durationMs", "perSecond", "size", "points", "atMs", "callers"],
  ...["fixedMs", "itemMs", "stepMs", "stepSize", "runMs"],
]);

/** Throws INVALID_OPTION. */
export function resolveSimulation(given: SimulateOptions<never>): ResolvedSimulation {
  checkIsObject("options", given);
  const all: SimulateOptions<never> = given ?? {};
  refuseUnknown(all, [...Object.keys(RUN), "options"]);
  checkEach(all, RUN, "");
  if (typeof all.options !== "function") checkIsObject("options.options", all.options);
  const { arrivals, service } = all;
  checkKind(arrivals, ARRIVALS, {}, "arrivals");
  checkKind(service, SERVICES, TROUBLES, "service");
  checkTogether(arrivals, service);
  const { durationMs, warmUpMs = 0, seed = 1, targetMs, attempts = 1, retryMs = 100 } = all;
  if (warmUpMs >= durationMs) {
    check(
      "warmUpMs",
      { ...zeroOrMore, expected: `less than \`durationMs\` (${durationMs})`, test: () => false },
      warmUpMs,
    );
  }
  return {
    ...{ arrivals, service, durationMs, warmUpMs, seed, targetMs, attempts, retryMs },
    options: all.options as ResolvedSimulation["options"],
    item: all.item ?? ((index) => index),
    submit: all.submit as ResolvedSimulation["submit"],
  };
}

function checkKind(
  given: { readonly kind: string },
  kinds: Readonly<Record<string, Rules>>,
  more: Rules,
  name: string,
): void {
  check(`${name}.kind`, oneOf(...Object.keys(kinds)), given.kind);
  const rules = { ...kinds[given.kind], ...more };
  const { kind: _, ...others } = given;
  refuseUnknown(others, Object.keys(rules), `${name}.`);
  checkEach(others, rules, `${name}.`);
}

/** A rule for an undefined value is skipped. */
function checkEach(given: object, rules: Rules, prefix: string): void {
  for (const [name, rule] of Object.entries(rules)) {
    const value: unknown = (given as Record<string, unknown>)[name];
    if (value !== undefined || REQUIRED.has(name)) check(prefix + name, rule, value);
  }
}

function checkTogether(arrivals: Arrivals, { stalls, changes, failures, ...shape }: Service): void {
  if (arrivals.kind === "curve") checkPoints("arrivals.points", arrivals.points, false);
  if (arrivals.kind === "times") checkAscending("arrivals.atMs", arrivals.atMs, false);
  if (shape.kind === "table") checkPoints("service.points", shape.points, true);
  if (arrivals.kind === "bursts") checkMean(arrivals);
  if (stalls !== undefined) checkEach(stalls, { share, factor: finiteAboveZero }, "service.stalls.");
  if (failures !== undefined) checkEach(failures, { share, above: finiteFromZero }, "service.failures.");
  for (const [index, change] of (changes ?? []).entries()) {
    checkEach(
      change,
      { fromMs: finiteFromZero, toMs: zeroOrMore, factor: finiteAboveZero },
      `service.changes[${index}].`,
    );
  }
}

function checkPoints(name: string, points: readonly (readonly [number, number])[], isStrict: boolean): void {
  for (const [index, point] of points.entries()) {
    check(
      `${name}[${index}]`,
      {
        ...objectWith(),
        expected: "a pair of numbers",
        test: (value: object) => Array.isArray(value) && value.length === 2,
      },
      point,
    );
    for (const value of point) check(`${name}[${index}]`, finiteFromZero, value);
  }
  const ats = points.map(([at]) => at);
  checkAscending(name, ats, isStrict);
  const isEmpty = points.every(([at, value]) => at === 0 || value === 0);
  if (isEmpty) check(name, { ...aList, expected: "at least one point above 0", test: () => false }, points);
}

/** `isStrict`: no two values may be equal. */
function checkAscending(name: string, values: readonly number[], isStrict: boolean): void {
  for (const [index, value] of values.entries()) {
    const least = index === 0 ? 0 : (values[index - 1] as number);
    const isAbove = isStrict && index > 0;
    const rule = {
      ...finiteFromZero,
      expected: `a finite number ${isAbove ? ">" : ">="} ${least}`,
      test: (at: number) => (isAbove ? at > least : at >= least) && at < Infinity,
    };
    check(`${name}[${index}]`, rule, value);
  }
}

/** Throws if a burst has more than all items, which would leave a negative rate for the rest. */
function checkMean(given: Extract<Arrivals, { kind: "bursts" }>): void {
  const { factor, burstMs, restMs } = { ...BURSTS, ...given };
  const most = (burstMs + restMs) / burstMs;
  check(
    "arrivals.factor",
    {
      ...finiteAboveZero,
      expected: `at most ${most}, or the bursts hold more than all items`,
      test: (value: number) => value <= most,
    },
    factor,
  );
}
