// Adapts the user's handler of tensors to a handler of rows: `prepare` stacks the rows, `finish`
// splits the answer.

import { isError } from "../core/contract/errors.ts";
import { resolveHandler, type Stages } from "../core/contract/handler.ts";
import type { HandlerDefaults } from "../core/contract/handler-defaults.ts";
import { isThenable } from "../core/contract/thenable.ts";
import type { BatchContext } from "../core/contract/types.ts";
import { aFunction, checkIsObject, expected, invalidOption } from "../core/contract/validate.ts";
import { type BatchInput, batchInput, type CheckInputs, type InputCheck } from "./batch-input.ts";
import { RowResult, readOutput } from "./batch-output.ts";
import type { TensorRow } from "./call.ts";
import type { ResolvedPadding } from "./options.ts";
import { copyResults } from "./results.ts";

/** The argument of `run` and `finish`: the value of the previous stage, and its batch. */
interface Staged {
  readonly value: unknown;
  readonly batch: BatchInput;
}

export interface RowHandler {
  prepare(rows: TensorRow[], context: BatchContext): Promise<Staged>;
  run(staged: Staged, context: BatchContext): Promise<Staged>;
  finish(staged: Staged, context: BatchContext): Promise<unknown[]>;
  open?: () => Promise<void>;
  close?: () => void;
}

/** The stages of the user's handler. Throws INVALID_OPTION. */
export function tensorStages(handler: unknown): Stages {
  const stages = resolveHandler(handler);
  if (stages.prepareItem === undefined) return stages;
  const message = "Unknown stage `handler.prepareItem`: a call has many rows; prepare its tensors before the call";
  throw invalidOption(TypeError, message);
}

/** True if a handler object says that it changes or transfers its input. */
export function wantsCopies(handler: unknown): boolean {
  return typeof handler === "object" && (handler as { copyInputs?: unknown } | null)?.copyInputs === true;
}

/** The defaults of a handler object. Throws INVALID_OPTION if they are not an object. */
export function defaultsOf(handler: unknown): HandlerDefaults {
  const defaults = typeof handler === "object" ? (handler as { defaults?: unknown } | null)?.defaults : undefined;
  checkIsObject("handler.defaults", defaults);
  return defaults ?? {};
}

/**
 * The handler's own check of a call, if it has one. Throws INVALID_OPTION if it is not a function.
 */
export function checkInputsOf(handler: unknown): CheckInputs | undefined {
  const given = (handler as { checkInputs?: unknown } | null)?.checkInputs;
  if (given === undefined) return undefined;
  if (typeof given !== "function") throw expected("handler.checkInputs", aFunction, given);
  return (forms) => void given.call(handler, forms);
}

interface RowHandlerOptions {
  readonly padding: ResolvedPadding;
  readonly inputCheck: InputCheck | undefined;
  /** True if one row may be the answer to more than one call. */
  readonly sharesRows: boolean;
  /** Called when the handler's own `open` is done. */
  readonly onOpen: () => void;
}

export function rowHandler(stages: Stages, options: RowHandlerOptions): RowHandler {
  const { padding, inputCheck, sharesRows, onOpen } = options;
  const { prepare, run, finish, open, close } = stages;
  const copiesAll = padding.own.copyOutputs === "always";
  const read = (output: unknown, batch: BatchInput): unknown[] => placesOf(output, batch, sharesRows, copiesAll);
  // A handler that reuses its output memory may do so in its next call, so the last stage copies
  // its answer at once.
  const readsInRun = copiesAll && finish === undefined;
  return {
    async prepare(rows, context) {
      const batch = batchInput(rows, padding, inputCheck);
      const { features } = batch;
      const value =
        prepare === undefined || features === undefined ? features : await prepare(features as never, context);
      return { value, batch };
    },
    async run({ value, batch }, context) {
      if (batch.features === undefined) return { value: undefined, batch };
      const returned = run(value, context);
      if (readsInRun) return { value: read(isThenable(returned) ? await returned : returned, batch), batch };
      return { value: await returned, batch };
    },
    async finish({ value, batch }, context) {
      if (batch.features === undefined) return batch.rows.map(({ call }) => batch.broken.get(call));
      if (readsInRun) return value as unknown[];
      const returned = finish === undefined ? value : finish(value, context);
      return read(isThenable(returned) ? await returned : returned, batch);
    },
    ...(open !== undefined && {
      open: async () => {
        await open();
        onOpen();
      },
    }),
    ...(close !== undefined && { close: close as () => void }),
  };
}

function placesOf(output: unknown, batch: BatchInput, sharesRows: boolean, copiesAll: boolean): unknown[] {
  if (isError(output)) throw output;
  const { rows, isShared, broken } = batch;
  const read = readOutput(output, rows.length, sharesRows ? "row" : isShared ? "batch" : "none");
  const copied = copiesAll ? copyResults(read, rows) : undefined;
  return rows.map(({ call }, row) => broken.get(call) ?? copied?.[row] ?? new RowResult(read, row));
}
