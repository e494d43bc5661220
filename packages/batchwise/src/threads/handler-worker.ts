// Runs in a thread of `threadHandler`: loads the user's module and runs its default export.
//
// Guarantees: answers every run once. If a run fails, the answer is its error and the thread
// continues. A result that cannot be sent rejects only its caller. Ends after `close`.

import { type MessagePort, parentPort } from "node:worker_threads";
import { batchResultError, describe, isError, NO_NAME, resultLength } from "../core/contract/errors.ts";
import { resolveHandler, type Stages } from "../core/contract/handler.ts";
import { isThenable } from "../core/contract/thenable.ts";
import type { BatchContext } from "../core/contract/types.ts";
import { type EncodedReason, encodeReason } from "./encode-reason.ts";
import { uncloneableResultError } from "./errors.ts";
import { pack, post } from "./pack.ts";
import { type Answer, type FromThread, type PlainPlaces, type ToThread, UNREADABLE } from "./thread-protocol.ts";

async function load(url: string): Promise<Stages> {
  const module = (await import(url)) as { readonly default?: unknown };
  let handler = module.default;
  // A CommonJS module that was compiled from an ES module.
  if (typeof handler === "object" && handler !== null && !("run" in handler) && "default" in handler) {
    handler = handler.default;
  }
  if (handler === undefined) throw new TypeError(`Expected a default export in ${url}, the handler; there is none`);
  const stages = resolveHandler(handler);
  await stages.open?.();
  return stages;
}

/**
 * Runs all stages in sequence. An item's error in `prepareItem` fails only that item, as without
 * threads.
 */
async function runStages(stages: Stages, items: readonly unknown[], context: BatchContext): Promise<PlainPlaces> {
  const { prepareItem, prepare, run, finish } = stages;
  if (prepareItem !== undefined) return runPrepared(stages, items, context);
  const input = prepare === undefined ? items : await prepare(items as unknown[], context);
  const output = await run(input, context);
  return settleAll(finish === undefined ? output : await finish(output, context), items.length);
}

async function runPrepared(stages: Stages, items: readonly unknown[], context: BatchContext): Promise<PlainPlaces> {
  const { prepareItem, ...others } = stages;
  const outcomes = await Promise.allSettled(items.map(async (item) => prepareItem?.(item)));
  const kept: number[] = [];
  const prepared: unknown[] = [];
  const errors: [number, EncodedReason][] = [];
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.status === "rejected") {
      errors.push([index, encodeReason(outcome.reason)]);
    } else {
      kept.push(index);
      prepared.push(outcome.value);
    }
  }
  if (errors.length === 0) return runStages(others, prepared, context);
  const values: unknown[] = new Array(items.length);
  if (kept.length === 0) return { values, errors };
  const requests = kept.map((index) => context.requests[index] as BatchContext["requests"][number]);
  const part = await runStages(others, prepared, { ...context, requests });
  for (const [at, index] of kept.entries()) values[index] = part.values[at];
  for (const [at, error] of part.errors) errors.push([kept[at] as number, error]);
  return { values, errors };
}

/** The handler's answer with each place settled. Throws BATCH_RESULT if it is not an answer. */
async function settleAll(output: unknown, size: number): Promise<PlainPlaces> {
  if (resultLength(output) !== size) throw batchResultError(NO_NAME, output, size);
  if (!Array.isArray(output)) return { values: output as ArrayLike<unknown>, errors: [] };
  const places: readonly unknown[] = output;
  const values: unknown[] = new Array(size);
  const errors: [number, EncodedReason][] = [];
  const waiting: Promise<void>[] = [];
  for (let index = 0; index < size; index += 1) {
    const place = places[index];
    const settle = (value: unknown): void => {
      if (isError(value)) errors.push([index, encodeReason(value)]);
      else values[index] = value;
    };
    const fail = (reason: unknown): void => {
      errors.push([index, encodeReason(reason)]);
    };
    if (!(index in places)) fail(batchResultError(NO_NAME, places, size, index));
    else if (isThenable(place)) waiting.push(Promise.resolve(place).then(settle, fail));
    else settle(place);
  }
  await Promise.all(waiting);
  return { values, errors };
}

type Message<Type> = Extract<ToThread, { readonly type: Type }>;

class HandlerWorker {
  readonly #port: MessagePort;
  #stages: Stages | undefined;
  #movesResults = false;
  #abort: AbortController = new AbortController();

  constructor(port: MessagePort) {
    this.#port = port;
    // A deep item may need more stack than the thread has.
    port.on("messageerror", (error) => this.#post(UNREADABLE, { type: "failed", error: encodeReason(error) }));
    port.on("message", (message: ToThread) => {
      if (message.type === "load") void this.#load(message);
      else if (message.type === "run") void this.#run(message);
      else if (message.type === "abort") this.#abort.abort(new DOMException("The batch was aborted", "AbortError"));
      else void this.#close(message.task);
    });
  }

  async #load({ task, url, movesResults }: Message<"load">): Promise<void> {
    this.#movesResults = movesResults;
    try {
      this.#stages = await load(url);
      this.#post(task, { type: "ready" });
    } catch (error) {
      this.#post(task, { type: "refused", error: encodeReason(error) });
      this.#end();
    }
  }

  async #run({ task, items, context: plain }: Message<"run">): Promise<void> {
    this.#abort = new AbortController();
    const context: BatchContext = { ...plain, signal: this.#abort.signal };
    try {
      this.#answer(task, await runStages(this.#stages as Stages, items, context));
    } catch (error) {
      this.#post(task, { type: "failed", error: encodeReason(error) });
    }
  }

  #answer(task: string, places: PlainPlaces): void {
    try {
      // Reads the results' properties, which may throw.
      const packed = pack(places.values, this.#movesResults);
      const answer = { ...places, type: "done", task, values: packed.value } as FromThread;
      post(this.#port, answer, packed.transfer);
    } catch {
      this.#post(task, { type: "done", ...withoutUncloneable(places) });
    }
  }

  async #close(task: string): Promise<void> {
    try {
      await this.#stages?.close?.();
    } catch (error) {
      this.#post(task, { type: "closeFailed", error: encodeReason(error) });
    }
    this.#end();
  }

  /** Work that the module has left running does not keep the thread alive. */
  #end(): void {
    process.exit(0);
  }

  #post(task: string, answer: Answer): void {
    this.#port.postMessage({ ...answer, task } satisfies FromThread);
  }
}

function withoutUncloneable({ values, errors }: PlainPlaces): PlainPlaces {
  const cloneable: unknown[] = new Array(values.length);
  const more: [number, EncodedReason][] = [];
  for (let index = 0; index < values.length; index += 1) {
    try {
      cloneable[index] = structuredClone(values[index]);
    } catch (error) {
      more.push([index, encodeReason(uncloneableResultError(error))]);
    }
  }
  return { values: cloneable, errors: [...errors, ...more] };
}

if (parentPort === null) throw new Error(`handler-worker runs in a worker thread, got ${describe(parentPort)}`);
new HandlerWorker(parentPort);
