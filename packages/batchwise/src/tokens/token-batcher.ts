// A batcher in the terms of language models: its cost is tokens. It only renames options and the
// names in errors, and is otherwise the same batcher.

import { bindOnce, bindOnRead } from "../core/contract/bind-methods.ts";
import { NO_NAME, tooManyTokensError } from "../core/contract/errors.ts";
import type { ShownOptions } from "../core/contract/options.ts";
import type { SubmitOptions } from "../core/contract/types.ts";
import { aCost, check } from "../core/contract/validate.ts";
import { BatcherCore, HOT } from "../core/engine/batcher.ts";
import type { BatcherMaker } from "../makers/batcher-maker.ts";
import { extensions } from "../makers/extensions.ts";
import { checkCount, countTokens } from "./count-tokens.ts";
import {
  checkSubmitNames,
  costChanges,
  type ResolvedTokenOptions,
  type SplitOptions,
  splitOptions,
  type TokenBatcher,
  type TokenConfigureOptions,
  type TokenSubmitManyOptions,
} from "./token-options.ts";

/**
 * `createBatcher` with options in tokens: a batch closes at `maxBatchTokens` (default 32,000) or at
 * `maxBatchSize` items (default 256). A submit may pass an exact count as `tokens`.
 *
 * The result has all members of a batcher, so code that takes any batcher takes it, too. The names
 * in `stats()`, `inspect()`, events and the handler's context are the same, and every `cost` there
 * is a number of tokens.
 *
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"`. `cost` and `maxBatchCost` are
 * refused, and the message names the option to use.
 *
 * @example
 * ```ts
 * import { createTokenBatcher } from "batchwise";
 * const summaries = createTokenBatcher(async (prompts: string[]) => prompts.map((prompt) => prompt.slice(0, 10)), {
 *   maxBatchTokens: 8_000,
 * });
 * const summary = await summaries.submit("A long text", { tokens: 3 });
 * summaries.configure({ maxBatchTokens: 16_000 });
 * ```
 */
export const createTokenBatcher: BatcherMaker<"tokens"> = (handler: unknown, options?: unknown) =>
  bindOnce(new TokenBatcherCore(handler, splitOptions(options)), HOT) as never;

/** The options of a submit, read once, with the names of the batcher below. */
type CostOptions = Omit<SubmitOptions, "cost" | "priority"> & { priority?: unknown; cost?: unknown };

class TokenBatcherCore extends BatcherCore implements TokenBatcher<unknown, unknown> {
  static {
    bindOnRead(TokenBatcherCore.prototype, HOT);
  }

  readonly #given: SplitOptions;
  #options: ResolvedTokenOptions;

  constructor(handler: unknown, given: SplitOptions) {
    const { maxBatchTokens, estimateTokens, defaultTokens, others } = given;
    const cost = (item: unknown): number => this.#fit(countTokens(item, estimateTokens, defaultTokens));
    super(handler, { ...others, maxBatchCost: maxBatchTokens, cost }, extensions, {
      tooLargeError: tooManyTokensError,
      submitOptions: (submit, isMany) => this.#inCost(submit as never, isMany) as never,
    });
    this.#given = given;
    this.#options = this.#inTokens(super.options);
  }

  override configure(changes: TokenConfigureOptions): void {
    super.configure(costChanges(changes));
    this.#options = this.#inTokens(super.options);
  }

  override get options(): ResolvedTokenOptions {
    return this.#options;
  }

  #inTokens(below: ShownOptions): ResolvedTokenOptions {
    const { estimateTokens, defaultTokens } = this.#given;
    return Object.freeze({ ...below, maxBatchTokens: below.maxBatchCost, estimateTokens, defaultTokens });
  }

  /**
   * Submit options with `cost` for `tokens`. Never throws: the batcher below finds an error when it
   * reads `cost`, and rejects and counts the item as for any mistake in a submit.
   */
  #inCost(given: TokenSubmitManyOptions<unknown> | undefined, isMany: boolean): SubmitOptions | undefined {
    // A value that is not an object is passed on unchanged, and refused below.
    if (typeof given !== "object" || given === null || Array.isArray(given)) return given as undefined;
    let options: CostOptions = {};
    try {
      checkSubmitNames(given);
      const { signal, priority, timeoutMs, key, context, tokens } = given;
      options = { signal, priority, timeoutMs, key, context };
      if (tokens !== undefined) options.cost = this.#costOf(tokens, isMany);
    } catch (error) {
      const raise = (): never => {
        throw error;
      };
      Object.defineProperty(options, "cost", { get: raise, enumerable: true });
    }
    return options as SubmitOptions;
  }

  /** The cost, or the function of an item, that stands for `tokens`. */
  #costOf(tokens: number | ((item: unknown) => number), isMany: boolean): unknown {
    if (isMany && typeof tokens === "function") return (item: unknown) => this.#fit(checkCount("tokens", tokens(item)));
    check("tokens", aCost, tokens);
    return this.#fit(tokens as number);
  }

  /**
   * Refuses an item that exceeds the limit. The inner batcher does so only after it has prepared
   * the item.
   */
  #fit(tokens: number): number {
    const { maxBatchCost, oversize, batchCost } = this.#options;
    // A function defines the cost of such an item; the batcher below calls it.
    const isCounted = typeof batchCost !== "function";
    if (isCounted && maxBatchCost !== "learn" && tokens > maxBatchCost && oversize === "reject")
      throw tooManyTokensError(this.#given.others.name ?? NO_NAME, tokens, maxBatchCost);
    return tokens;
  }
}
