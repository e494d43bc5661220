// Adapts calls of rows to a batcher of rows: converts the arguments and the results, and decides
// nothing about batches.

import { bindOnRead } from "../core/contract/bind-methods.ts";
import { NO_NAME, nameError } from "../core/contract/errors.ts";
import { nameOfHandler } from "../core/contract/handler-defaults.ts";
import type { SubmitManyOptions, SubmitOptions } from "../core/contract/types.ts";
import { BatcherCore, HOT } from "../core/engine/batcher.ts";
import { extensions } from "../makers/extensions.ts";
import { type InputCheck, inputCheckOf } from "./batch-input.ts";
import type { RowResult } from "./batch-output.ts";
import { TensorCall, type TensorRow } from "./call.ts";
import { fillOf } from "./dtype.ts";
import { ResolvedPadding, type ResolvedTensorOptions, type SplitOptions, splitOptions } from "./options.ts";
import { collect } from "./results.ts";
import type { Checked } from "./shape.ts";
import { checkInputsOf, defaultsOf, rowHandler, tensorStages, wantsCopies } from "./stages.ts";
import { ofRow, rowOptions } from "./user-functions.ts";

type ManyOptions = SubmitManyOptions<unknown> | undefined;

export class TensorBatcherCore extends BatcherCore {
  static {
    bindOnRead(TensorBatcherCore.prototype, HOT);
  }

  readonly #padding: ResolvedPadding;
  /** Prefix of error messages. */
  readonly #name: string;
  readonly #inputCheck: InputCheck | undefined;
  /**
   * False until the handler is open. Before, it does not know its inputs, so calls are checked when
   * they are stacked.
   */
  #isOpen: boolean;
  /**
   * The first call's signature. Calls with another one are in other lanes, because they cannot be
   * stacked with it.
   */
  #signature: string | undefined;

  /** Throws INVALID_OPTION. */
  constructor(handler: unknown, given: unknown) {
    const split: SplitOptions = splitOptions(given, defaultsOf(handler));
    const stages = tensorStages(handler);
    const padding = new ResolvedPadding(split.own, split.own.copyInputs || wantsCopies(handler));
    const checkInputs = checkInputsOf(handler);
    const inputCheck = checkInputs === undefined ? undefined : inputCheckOf(checkInputs, padding);
    const laneOf = (key: string, { call }: TensorRow): string => this.#laneOf(key, call);
    const options = rowOptions(split, padding, laneOf);
    const sharesRows = options.dedupe !== undefined;
    const onOpen = (): void => {
      this.#isOpen = true;
    };
    const rows = rowHandler(stages, { padding, inputCheck, sharesRows, onOpen });
    super(Object.assign(rows, { name: nameOfHandler(handler) }), options, extensions);
    this.#name = options.name ?? NO_NAME;
    this.#padding = padding;
    this.#inputCheck = inputCheck;
    this.#isOpen = stages.open === undefined;
  }

  override get options(): ResolvedTensorOptions {
    return Object.freeze({ ...super.options, ...this.#padding.own });
  }

  override async submit(features: unknown, options?: SubmitOptions): Promise<unknown> {
    const call = this.#read(features);
    const [row] = call.rows;
    if (call.rows.length === 1) return this.#collect([await super.submit(row, this.#optionsFor(call, options))]);
    return this.#collect(await super.submitMany(call.rows, this.#optionsFor(call, ofRows(options))));
  }

  /** Submits nothing if one of the records is malformed. */
  override async submitMany(items: readonly unknown[], options?: ManyOptions): Promise<unknown[]> {
    if (!Array.isArray(items)) return super.submitMany(items);
    const calls = items.map((item) => this.#read(item));
    const rows = await this.#submitGroups(calls, (group, below) => super.submitMany(group, below), options);
    return calls.map((call) => this.#collect(rows.get(call) ?? []));
  }

  override async submitSettled(
    items: readonly unknown[],
    options?: ManyOptions,
  ): Promise<PromiseSettledResult<unknown>[]> {
    if (!Array.isArray(items)) return super.submitSettled(items);
    const read = items.map((item) => attempt(() => this.#read(item)));
    const calls = read.filter((call) => call instanceof TensorCall);
    const rows = await this.#submitGroups(calls, (group, below) => super.submitSettled(group, below), options);
    return Promise.allSettled(
      read.map(async (call) => {
        if (!(call instanceof TensorCall)) throw call.error;
        return this.#collect((rows.get(call) ?? []).map(valueOrThrow));
      }),
    );
  }

  /** Submits the rows of all calls, grouped by signature, and collects the answer to each call. */
  async #submitGroups<Answer>(
    calls: readonly TensorCall[],
    submit: (rows: readonly TensorRow[], options: never) => Promise<Answer[]>,
    options: ManyOptions,
  ): Promise<Map<TensorCall, Answer[]>> {
    const groups = new Map<string, [TensorCall, ...TensorCall[]]>();
    for (const call of calls) {
      const group = groups.get(call.signature);
      if (group === undefined) groups.set(call.signature, [call]);
      else group.push(call);
    }
    const answered = new Map<TensorCall, Answer[]>();
    const below = ofRows(options);
    await Promise.all(
      [...groups.values()].map(async (group) => {
        const rows = group.flatMap((call) => call.rows);
        const answers = await submit(rows, this.#optionsFor(group[0], below));
        let at = 0;
        for (const call of group) {
          answered.set(call, answers.slice(at, at + call.rows.length));
          at += call.rows.length;
        }
      }),
    );
    return answered;
  }

  #collect(results: readonly unknown[]): unknown {
    return this.#named(() => collect(results as readonly RowResult[], this.#padding.own));
  }

  /** Adds the batcher's name to errors that do not pass through the batcher below. */
  #named<Value>(work: () => Value): Value {
    try {
      return work();
    } catch (error) {
      nameError(error, this.#name);
      throw error;
    }
  }

  /**
   * The features of a call, checked before any function of the user gets them. Throws
   * INVALID_OPTION, and the error of the handler's own check.
   */
  #read(features: unknown): TensorCall {
    return this.#named(() => this.#readChecked(features));
  }

  #readChecked(features: unknown): TensorCall {
    const call = new TensorCall(features);
    for (const name of call.names) {
      const token = this.#padding.tokenOf(name);
      const { type, data } = call.features[name] as Checked;
      if (token !== undefined) fillOf(`padTokens.${name}`, type, data, token);
    }
    if (this.#isOpen) this.#inputCheck?.(call);
    this.#signature ??= call.signature;
    return call;
  }

  /**
   * A key that looks like a lane of another signature gets a signature, too, so that no two lanes
   * have the same name.
   */
  #laneOf(key: string, { signature }: TensorCall): string {
    return signature === this.#signature && !key.includes(' with "') ? key : `${key} with ${signature}`;
  }

  /** The options for the rows of one call, or of several with the same signature. */
  #optionsFor(call: TensorCall, options: ManyOptions): never {
    // A function for the key adds the signature itself.
    const hasNoKey = call.signature !== this.#signature && super.options.key === undefined;
    const { key = hasNoKey ? "" : undefined } = options ?? {};
    return (typeof key === "string" ? { ...options, key: this.#laneOf(key, call) } : options) as never;
  }
}

interface Failed {
  readonly error: unknown;
}

function attempt<Value>(work: () => Value): Value | Failed {
  try {
    return work();
  } catch (error) {
    return { error };
  }
}

function valueOrThrow(settled: PromiseSettledResult<unknown>): unknown {
  if (settled.status === "rejected") throw settled.reason;
  return settled.value;
}

/**
 * `submitMany` options for rows: wraps functions that take a record. The batcher below refuses
 * invalid ones.
 */
function ofRows(options: ManyOptions): ManyOptions {
  if (typeof options !== "object" || options === null) return options;
  const { priority, cost } = options;
  return { ...options, priority: ofRow(priority), cost: ofRow(cost) };
}
