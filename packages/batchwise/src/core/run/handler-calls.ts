// How the handler's stages are called: `open` once, then `prepare`, `run` and `finish` for each batch, `close` at the end.
// All of it runs in the batcher's own async context.

import { closedError } from "../contract/errors.ts";
import type { BatchContext } from "../contract/types.ts";
import type { Stages } from "./handler.ts";

/** The batch that is called for. */
export interface CallingBatch {
  /** True where nobody waits for the answer to this call any more. */
  readonly isOver: boolean;
  readonly holdsSlot: boolean;
  /** Resolves when the batch has a slot; undefined where it has one. */
  slot(): Promise<void> | undefined;
  /** Gives the slot back before the batch has ended. */
  releaseSlot(): void;
}

export class HandlerCalls {
  readonly #stages: Stages;
  readonly #name: string;
  /** With `prefetch`, a batch finishes without its slot, unless the handler may be called again for it. */
  readonly #finishesWithoutSlot: boolean;
  #opening: Promise<void> | null = null;
  /** Rejects `#opening`, where that is under way. */
  #giveUpOpening: ((error: unknown) => void) | null = null;
  #isOpen = false;
  #isAbandoned = false;

  constructor(stages: Stages, name: string, finishesWithoutSlot: boolean) {
    this.#stages = stages;
    this.#name = name;
    this.#finishesWithoutSlot = finishesWithoutSlot && stages.finish !== undefined;
  }

  /** Calls the handler. Its answer may be a promise; it may throw. */
  call(items: unknown[], context: BatchContext, batch: CallingBatch): unknown {
    const { prepare, run, finish } = this.#stages;
    if (prepare === undefined && finish === undefined) return run(items, context);
    return this.#callStages(items, context, batch);
  }

  async #callStages(items: unknown[], context: BatchContext, batch: CallingBatch): Promise<unknown> {
    const { prepare, run, finish } = this.#stages;
    const input = prepare === undefined ? items : await prepare(items, context);
    if (!context.signal.aborted) await batch.slot();
    if (context.signal.aborted) throw context.signal.reason;
    const output = await run(input, context);
    if (finish === undefined || batch.isOver) return output;
    if (this.#finishesWithoutSlot && batch.holdsSlot) batch.releaseSlot();
    return finish(output, context);
  }

  /**
   * Opens the handler, once; a failure is the batch's, and the next batch tries again. Undefined where there is nothing
   * to open; else a promise, also when it has long been opened, so that batches keep their order.
   */
  opening(): Promise<void> | undefined {
    const { open } = this.#stages;
    if (open === undefined) return undefined;
    this.#opening ??= new Promise((resolve, reject) => {
      this.#giveUpOpening = reject;
      this.#open(open).then(resolve, reject);
    });
    return this.#opening;
  }

  /** Rejects an opening under way with CLOSED; where it succeeds later, the handler is closed then. */
  abandon(): void {
    this.#isAbandoned = true;
    this.#giveUpOpening?.(closedError(this.#name));
  }

  /** Runs the handler's `close`, unless its `open` never succeeded or was abandoned. */
  async close(): Promise<void> {
    const { open, close } = this.#stages;
    if (close === undefined) return;
    await this.#opening?.catch(() => {});
    if (open === undefined || this.#isOpen) await close();
  }

  async #open(open: () => unknown): Promise<void> {
    try {
      await null;
      if (this.#isAbandoned) return;
      await open();
    } catch (error) {
      this.#opening = null;
      throw error;
    } finally {
      this.#giveUpOpening = null;
    }
    if (this.#isAbandoned) await this.#stages.close?.();
    else this.#isOpen = true;
  }
}
