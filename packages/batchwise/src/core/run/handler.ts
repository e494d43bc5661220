// The user's handler, in whichever form it came, as one set of stages.

import type { ResolvedOptions } from "../contract/options.ts";
import type { BatchContext } from "../contract/types.ts";
import { aFunction, check, expected, invalidOption, type Rule } from "../contract/validate.ts";
import { Call } from "./call.ts";

/** A handler's parts. What they take and return is checked where it is used. */
export interface Stages {
  readonly prepareItem: ((item: unknown) => unknown) | undefined;
  readonly prepare: ((items: unknown[], context: BatchContext) => unknown) | undefined;
  readonly run: (input: unknown, context: BatchContext) => unknown;
  readonly finish: ((output: unknown, context: BatchContext) => unknown) | undefined;
  readonly open: (() => unknown) | undefined;
  readonly close: (() => unknown) | undefined;
}

/** A batch, as the stages of one of its calls need to know it. */
export interface StagedBatch {
  /** Resolves when the batch has a slot; undefined where it has one. */
  slot(): Promise<void> | undefined;
  /** To be called before `run`. */
  runs(): void;
  /** True for a call whose answer is still waited for. */
  isPresent(call: number): boolean;
  /** Gives the slot back, if it has one, before the batch has ended. */
  releaseSlot(): void;
}

/**
 * Runs the stages of a handler that has others than `run`. Only `run` and what follows it hold a
 * slot.
 */
export async function runStages(
  { stages, options }: { readonly stages: Stages; readonly options: ResolvedOptions },
  items: unknown[],
  context: Call,
  call: number,
  batch: StagedBatch,
): Promise<unknown> {
  const { prepare, run, finish } = stages;
  const input = prepare === undefined ? items : await prepare(items, context);
  if (!Call.isAborted(context)) await batch.slot();
  if (Call.isAborted(context)) throw context.signal.reason;
  batch.runs();
  const output = await run(input, context);
  if (finish === undefined || !batch.isPresent(call)) return output;
  // With `prefetch`, a batch finishes without its slot, unless the handler may be called again for
  // it.
  const isLast = options.prefetch > 0 && options.retry === undefined && !options.isolateFailures;
  if (isLast) batch.releaseSlot();
  return finish(output, context);
}

const NO_STAGES: Readonly<Record<keyof Stages, undefined>> = {
  prepareItem: undefined,
  prepare: undefined,
  run: undefined,
  finish: undefined,
  open: undefined,
  close: undefined,
};

type Method = (...args: unknown[]) => unknown;

const aHandler: Rule = { ...aFunction, expected: "a function or an object with a `run` method" };

export function resolveHandler(handler: unknown): Stages {
  if (typeof handler === "function") {
    refuseGenerator(handler);
    return { ...NO_STAGES, run: handler as Method };
  }
  const methods = handler as Readonly<Record<string, unknown>> | null;
  const run = typeof methods === "object" ? methods?.run : undefined;
  if (methods === null || typeof run !== "function") throw expected("handler", aHandler, handler);
  refuseGenerator(run);
  const stages: Record<string, Method> = {};
  for (const name of Object.keys(NO_STAGES)) {
    const method = methods[name];
    if (method === undefined) continue;
    check(`handler.${name}`, aFunction, method);
    stages[name] = (...args) => Reflect.apply(method as Method, methods, args);
  }
  return { ...NO_STAGES, run: run as Method, ...stages };
}

/** A generator answers round by round, which a batch of single results cannot use. */
function refuseGenerator(handler: object): void {
  const kind = Object.prototype.toString.call(handler);
  if (kind !== "[object AsyncGeneratorFunction]" && kind !== "[object GeneratorFunction]") return;
  const way = "use `batchStream` for streams";
  throw invalidOption(
    TypeError,
    `Expected \`handler\` to return an array of results, got a generator function: ${way}`,
  );
}
