// The options of a tensor batcher: any batcher's options, and the padding of features. Validated
// once, filled in and frozen.

import { type HandlerDefaults, mergeDefaults } from "../core/contract/handler-defaults.ts";
import type { BatchOptions, ShownOptions } from "../core/contract/options.ts";
import { SETTINGS } from "../core/contract/resolve-options.ts";
import {
  aBoolean,
  aFunction,
  check,
  checkIsObject,
  objectWith,
  oneOf,
  refuseUnknown,
} from "../core/contract/validate.ts";
import { checkPaddingSide, checkToken, multiplesOf } from "./padding.ts";
import type { Features, PaddingSide, PadToken } from "./types.ts";

/** When a caller's result has its own memory; see {@link TensorBatchOptions.copyOutputs}. */
export type CopyOutputs = "shared" | "always" | "never";

type Multiples = number | readonly number[];

/**
 * The options of `batchTensors`. The user's functions of an item (`cost`, `key`, `dedupe`,
 * `fairBy`, …) get one row: a record of tensors whose first dimension is 1.
 */
export interface TensorBatchOptions<Inputs, Result> extends BatchOptions<Inputs, Result> {
  /**
   * The pad value of each feature, for rows shorter than the longest of their batch. Default 0, or
   * "" for strings. For a float16 feature a number, even if its bits are in a `Uint16Array`.
   */
  readonly padTokens?: Readonly<Record<string, PadToken>> | undefined;
  /** The side on which rows are padded, in every dimension. Default `"right"`. */
  readonly paddingSide?: PaddingSide | undefined;
  /**
   * Rounds padded lengths up, so that a model sees few different shapes. A number applies to the
   * second dimension of each feature; a list to each dimension after the rows (1 does not change
   * it); a record applies only to the features that it names. Integers >= 1. Default: none.
   */
  readonly padToMultipleOf?: Multiples | Readonly<Record<string, Multiples>> | undefined;
  /**
   * The length of a row, which is its cost if there is no `cost`. Default: the number of elements
   * of its largest feature, rounded up by `padToMultipleOf`. Finite and >= 0.
   */
  readonly lengthOf?: ((row: Inputs) => number) | undefined;
  /**
   * True: the handler always gets memory that nothing else refers to, and may change it or transfer
   * it to a thread. False (default): if a batch has the rows of a single call and needs no padding,
   * the handler gets the caller's own memory. A handler object may request copies with a property
   * of this name.
   */
  readonly copyInputs?: boolean | undefined;
  /**
   * When a result is copied out of the handler's answer. `"shared"` (default): if the answer has
   * rows of more than one call, so that a caller may keep, change or transfer its result.
   * `"always"`: for a handler that reuses its output memory. `"never"`: views. Rows that come from
   * several batches, and results shared by `dedupe`, are always copied.
   */
  readonly copyOutputs?: CopyOutputs | undefined;
}

/** The resolved options. */
export interface ResolvedTensorOptions extends ShownOptions {
  readonly padTokens: Readonly<Record<string, PadToken>>;
  readonly paddingSide: PaddingSide;
  readonly padToMultipleOf: Multiples | Readonly<Record<string, Multiples>>;
  /** Undefined if the length is the number of elements. */
  readonly lengthOf: ((row: never) => number) | undefined;
  readonly copyInputs: boolean;
  readonly copyOutputs: CopyOutputs;
}

type Own = "padTokens" | "paddingSide" | "padToMultipleOf" | "lengthOf" | "copyInputs" | "copyOutputs";

const OWN: readonly Own[] = ["padTokens", "paddingSide", "padToMultipleOf", "lengthOf", "copyInputs", "copyOutputs"];

/** Names of other libraries' options, and the options to use instead. */
const HINTS: Readonly<Record<string, string>> = {
  spreadKwargs: "the handler gets one record and spreads it itself: `({ input_ids, attention_mask }) => …`",
  padToken: "it is `padTokens`, a token for each feature: `{ input_ids: 0 }`",
};

/** The padding of a batch's features. */
export class ResolvedPadding {
  readonly own: Pick<ResolvedTensorOptions, Own>;
  readonly paddingSide: PaddingSide;
  readonly copyInputs: boolean;
  readonly #multiples: ReadonlyMap<string, readonly number[]>;
  readonly #multiplesOfAll: readonly number[];

  constructor(own: Pick<ResolvedTensorOptions, Own>, copyInputs: boolean) {
    const { padToMultipleOf: given } = own;
    this.own = own;
    this.paddingSide = own.paddingSide;
    this.copyInputs = copyInputs;
    const isRecord = typeof given === "object" && !Array.isArray(given) && given !== null;
    const each = isRecord ? Object.entries(given as Readonly<Record<string, Multiples>>) : [];
    this.#multiples = new Map(each.map(([name, value]) => [name, multiplesOf(`padToMultipleOf.${name}`, value)]));
    this.#multiplesOfAll = isRecord ? [] : multiplesOf("padToMultipleOf", given as Multiples);
  }

  multiplesOf(name: string): readonly number[] {
    return this.#multiples.get(name) ?? this.#multiplesOfAll;
  }

  tokenOf(name: string): PadToken | undefined {
    return Object.hasOwn(this.own.padTokens, name) ? this.own.padTokens[name] : undefined;
  }
}

export interface SplitOptions {
  readonly own: Pick<ResolvedTensorOptions, Own>;
  /** The options for the batcher below, which checks them. */
  readonly others: BatchOptions<unknown, unknown>;
}

/**
 * Checks and fills in the options that only a tensor batcher has. `defaults`: the handler's. Throws
 * INVALID_OPTION.
 */
export function splitOptions(given: unknown, defaults: HandlerDefaults = {}): SplitOptions {
  checkIsObject("options", given);
  const options: TensorBatchOptions<Features, unknown> = mergeDefaults({ ...given }, defaults);
  refuseUnknown(options, [...Object.keys(SETTINGS), ...OWN], "", HINTS);
  const { padTokens = {}, padToMultipleOf = 1, copyInputs = false, copyOutputs = "shared", ...rest } = options;
  const { paddingSide, lengthOf, ...others } = rest;
  check("padTokens", objectWith(), padTokens);
  for (const [name, token] of Object.entries(padTokens)) {
    if (token !== undefined) checkToken(`padTokens.${name}`, token);
  }
  if (lengthOf !== undefined) check("lengthOf", aFunction, lengthOf);
  check("copyInputs", aBoolean, copyInputs);
  check("copyOutputs", oneOf("shared", "always", "never"), copyOutputs);
  return {
    own: {
      padTokens: Object.freeze({ ...padTokens }),
      paddingSide: checkPaddingSide(paddingSide),
      padToMultipleOf: frozen(padToMultipleOf),
      lengthOf: lengthOf as ResolvedTensorOptions["lengthOf"],
      copyInputs,
      copyOutputs,
    },
    others: others as BatchOptions<unknown, unknown>,
  };
}

function frozen(given: ResolvedTensorOptions["padToMultipleOf"]): ResolvedTensorOptions["padToMultipleOf"] {
  if (typeof given !== "object" || given === null) return given;
  return Object.freeze(Array.isArray(given) ? [...(given as readonly number[])] : { ...given });
}
