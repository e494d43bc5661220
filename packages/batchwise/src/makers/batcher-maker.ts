// The signatures of the functions that make batchers. The types of items and results are inferred
// from the handler.

import type { BatchOptions } from "../core/contract/options.ts";
import type {
  BatchContext,
  Batcher,
  BatchFunction,
  ElementOf,
  HandlerFunction,
  HandlerObject,
  NumericArray,
  NumericHandlerFunction,
  Place,
  Places,
  PlainHandlerObject,
  ResultOf,
} from "../core/contract/types.ts";
import type { TokenBatcher, TokenBatcherOptions } from "../tokens/token-options.ts";

/** Each kind of batcher, and its options. */
interface Kinds<Item, Result> {
  readonly object: { readonly made: Batcher<Item, Result>; readonly options: BatchOptions<Item, Result> };
  readonly function: { readonly made: BatchFunction<Item, Result>; readonly options: BatchOptions<Item, Result> };
  readonly tokens: { readonly made: TokenBatcher<Item, Result>; readonly options: TokenBatcherOptions<Item, Result> };
}

/**
 * Makes a batcher of one kind; one signature for each form of handler. The last takes every form:
 * if more than three signatures do not fit, compilers report the last, so a misspelt option is
 * reported at its place.
 */
export interface BatcherMaker<Kind extends keyof Kinds<unknown, unknown>> {
  <Item, Numbers extends NumericArray>(
    handler: NumericHandlerFunction<Item, Numbers>,
    options?: Kinds<Item, Numbers[number]>[Kind]["options"],
  ): Kinds<Item, Numbers[number]>[Kind]["made"];
  <Item, Result>(
    handler: HandlerFunction<Item, Result>,
    options?: Kinds<Item, Result>[Kind]["options"],
  ): Kinds<Item, Result>[Kind]["made"];
  <Item, Result>(
    handler: PlainHandlerObject<Item, Result>,
    options?: Kinds<Item, Result>[Kind]["options"],
  ): Kinds<Item, Result>[Kind]["made"];
  <Output, Input, Prepared = ElementOf<Input>, Item = Prepared, Result = ResultOf<Output>>(
    handler: HandlerObject<Item, Result, Prepared, Input, Output>,
    options?: Kinds<Item, Result>[Kind]["options"],
  ): Kinds<Item, Result>[Kind]["made"];
  <Item, Result, Prepared = Item, Input = Prepared[], Output = Places<Result> | NumericArray>(
    handler: AnyFunction<Item, Result> | HandlerObject<Item, Result, Prepared, Input, Output>,
    options?: Kinds<Item, Result>[Kind]["options"],
  ): Kinds<Item, Result>[Kind]["made"];
}

type AnyFunction<Item, Result> = (
  items: Item[] & Reported<Item>[],
  context: BatchContext,
) => ArrayWithOneResultPerItem<Result> | PromiseLike<ArrayWithOneResultPerItem<Result>>;

/**
 * The items of a function; `never` while they are not inferred. Compilers check options before they
 * infer such a function.
 */
type Reported<Item> = unknown extends Item ? never : Item;

/**
 * An array or a numeric typed array, but not a string. Its name appears in compilers' messages
 * about another answer. Without the two methods of a promise, compilers compare an answer with
 * `PromiseLike` and print ten lines.
 */
interface ArrayWithOneResultPerItem<Result> {
  readonly then?: never;
  readonly catch?: never;
  readonly length: number;
  readonly [index: number]: Place<Result>;
  entries(): Iterable<[number, Place<Result>]>;
}
