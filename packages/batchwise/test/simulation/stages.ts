// The handler of a world as an object with stages: some of open, prepareItem, prepare, run, finish
// and close, each of which may take time or fail.

import type { BatchContext, HandlerObject } from "batchwise";
import { checkSlots } from "./check-batch.ts";
import { type Given, later, prepareItem } from "./functions.ts";
import { HandlerActor } from "./handler.ts";
import type { Call } from "./record.ts";
import type { Item } from "./schedule.ts";

/** The value from `prepare` to `run`: the prepared items with their call, or the plain items. */
type Input = readonly Given[] | { readonly call: Call };

export class StagedActor extends HandlerActor {
  /** Errors of `open`: every caller of a batch that could not be opened may get one. */
  readonly openErrors: Set<unknown> = new Set();
  closes = 0;
  #opens = 0;
  #isOpen = false;

  object(): HandlerObject<Item, unknown, Given, Input, unknown> {
    const { stages } = this.model.world;
    return {
      run: (input, context) => this.#run(input, context),
      close: () => this.#close(),
      ...(stages.open ? { open: () => this.#open() } : {}),
      ...(stages.prepareItem ? { prepareItem } : {}),
      ...(stages.prepare ? { prepare: (given, context) => this.#prepare(given, context) } : {}),
      ...(stages.finish ? { finish: (output, context) => this.#finish(output, context) } : {}),
    };
  }

  async #open(): Promise<void> {
    const { model, random } = this;
    this.#opens += 1;
    model.expect(!this.#isOpen, "open", () => "was called again after it had succeeded");
    await later(model, random.integer(0, 5));
    if (this.#opens === 1 && random.chance(0.3)) {
      const error = new Error("open failed");
      this.openErrors.add(error);
      throw error;
    }
    this.#isOpen = true;
    // A batch that could not be opened may wait for another attempt.
    later(model, (model.world.uses.retry?.backoffMs ?? 0) + 1).then(() => {
      model.isOpening = false;
    });
  }

  async #prepare(given: readonly Given[], context: BatchContext): Promise<Input> {
    const { model, random } = this;
    const call = this.begin(given, context, false, false);
    await this.#pause();
    if (random.chance(model.world.habits.wrong / 4)) throw this.failed(call, new Error("prepare failed"));
    call.preparedAt = model.now;
    return { call };
  }

  #run(input: Input, context: BatchContext): unknown {
    const { model } = this;
    const call = "call" in input ? input.call : this.begin(input, context, false);
    model.expect(this.#isOpen || !model.world.stages.open, "open", () => "had not been called when run was");
    call.isRunning = true;
    call.heldMs = model.now - call.preparedAt;
    checkSlots(model, call);
    return this.answer(call);
  }

  async #finish(output: unknown, context: BatchContext): Promise<never> {
    await this.#pause();
    const call = this.model.batches.get(context.id)?.lastCall;
    if (call !== undefined) call.hasFinished = true;
    if (call?.isMisshapen) call.failedAt = this.model.now;
    return this.model.note(() => `finish ${context.id}`) ?? (output as never);
  }

  #pause(): Promise<void> {
    return later(this.model, this.random.integer(0, 6));
  }

  #close(): void {
    this.closes += 1;
    this.model.expect(this.closes === 1, "close", () => "the handler was closed twice");
    this.model.expect(this.#isOpen || !this.model.world.stages.open, "close", () => "the handler had never opened");
  }
}
