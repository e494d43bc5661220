// The handler of a world: answers correctly, late, at once, partly, wrongly or never, and records
// its answers. stages.ts has the handler with stages.

import type { BatchContext } from "batchwise";
import { checkCall } from "./check-batch.ts";
import { type Given, itemOf, later } from "./functions.ts";
import type { Model } from "./model.ts";
import type { Random } from "./random.ts";
import type { Call, Place } from "./record.ts";

/** Stands in the model for the batcher's error about an answer of the wrong form. */
export const WRONG_SHAPE = "BATCH_RESULT";

export class HandlerActor {
  readonly model: Model;
  readonly random: Random;

  constructor(model: Model, random: Random) {
    this.model = model;
    this.random = random;
  }

  /** A plain handler function. */
  handle(given: readonly Given[], context: BatchContext): unknown {
    return this.answer(this.begin(given, context, true));
  }

  /** Records the places of a call. `isAtOnce`: the batch was closed at this time. */
  begin(given: readonly Given[], context: BatchContext, isAtOnce: boolean, isRunning = true): Call {
    const { model, random } = this;
    const places = given.map((one) => model.placesByItem.get(itemOf(one).id)).filter((place) => place !== undefined);
    model.expect(places.length === given.length, "handed", () => "items that took no place");
    model.syncRoom(!model.isTangled && !model.batches.has(context.id));
    const call: Call = {
      batchId: context.id,
      places,
      startedAt: model.now,
      signal: random.chance(0.5) ? context.signal : undefined,
      isRunning,
      preparedAt: model.now,
      heldMs: 0,
      hasFinished: !model.world.stages.finish,
      open: 1,
      failedAt: Number.POSITIVE_INFINITY,
      isMisshapen: false,
    };
    checkCall(model, call, context, isAtOnce);
    model.calls.push(call);
    model.note(() => `call ${call.batchId} (${context.reason}) of ${places.map(({ item }) => item.id).join(" ")}`);
    for (const place of places) {
      place.state = "handed";
      place.batchId = context.id;
      place.lastCall = call;
    }
    model.actInside();
    return call;
  }

  /** The answer of a call, which may come later or never; throws if the call is to throw. */
  answer(call: Call): unknown {
    const { random, model } = this;
    const { habits } = model.world;
    if (random.chance(habits.hang)) return new Promise(() => {});
    if (random.chance(habits.sync)) return this.#produce(call);
    const ms = habits.isSteady ? habits.slowMs : random.integer(0, habits.slowMs);
    return later(model, ms).then(() => {
      if (ms > 0) model.opensTurn();
      return this.#produce(call);
    });
  }

  #produce(call: Call): unknown {
    const { random, model } = this;
    const poison = call.places.find((place) => place.item.isPoison);
    if (poison !== undefined) throw this.failed(call, new Error(`poison ${poison.item.id}`));
    if (random.chance(model.world.habits.wrong)) return this.#wrong(call);
    call.open -= 1;
    if (model.world.habits.isNumeric) return Float64Array.from(call.places, (place) => this.#number(call, place));
    return call.places.map((place) => this.#place(call, place));
  }

  /** A failure of the whole call: an error, or an answer that cannot be distributed. */
  #wrong(call: Call): unknown {
    const right = call.places.map(({ item }) => item.id);
    const shapes = [right.slice(1), [...right, 0], undefined, null, "text", { length: right.length }, 7] as const;
    if (this.random.chance(0.5)) throw this.failed(call, new Error(`the handler failed in ${call.batchId}`));
    this.failed(call, WRONG_SHAPE);
    if (this.model.world.stages.finish) {
      call.failedAt = Number.POSITIVE_INFINITY;
      call.isMisshapen = true;
    }
    return this.random.pick<unknown>(shapes);
  }

  /** Records that a call has failed as a whole. */
  failed<Failure>(call: Call, failure: Failure): Failure {
    for (const place of call.places) this.#say(call, place, { isOk: false, isWhole: true, is: failure });
    call.open -= 1;
    call.failedAt = this.model.now;
    return failure;
  }

  #number(call: Call, place: Place): number {
    return this.#say(call, place, { isOk: true, isWhole: false, is: place.item.id * 1000 + this.model.calls.length });
  }

  /**
   * The value in one caller's place: mostly its result, sometimes an Error, a promise or undefined.
   */
  #place(call: Call, place: Place): unknown {
    const { random, model } = this;
    const value = `value ${place.item.id} ${model.calls.length}`;
    if (!random.chance(model.world.habits.odd))
      return this.#say(call, place, { isOk: true, isWhole: false, is: value });
    const draw = random.next();
    if (draw < 0.2) return this.#say(call, place, { isOk: true, isWhole: false, is: undefined });
    const mayPromise = !model.world.stages.finish;
    if (draw < 0.5 || !mayPromise) return this.#say(call, place, { isOk: false, isWhole: false, is: new Error(value) });
    return this.#promised(call, place, value, draw < 0.75);
  }

  async #promised(call: Call, place: Place, value: string, isOk: boolean): Promise<unknown> {
    const ms = this.random.integer(0, this.model.world.habits.slowMs);
    call.open += 1;
    await later(this.model, ms);
    call.open -= 1;
    if (isOk) return this.#say(call, place, { isOk, isWhole: false, is: value });
    throw this.#say(call, place, { isOk, isWhole: false, is: new Error(value) });
  }

  #say<Said>(call: Call, place: Place, said: { isOk: boolean; isWhole: boolean; is: Said }): Said {
    const { model } = this;
    if (place.lastCall === call && !isOver(model, call)) {
      place.answer = { ...said, at: model.now };
      const { retry, isolateFailures } = model.world.uses;
      if (!said.isWhole || (retry === undefined && !isolateFailures)) place.state = "answered";
    }
    return said.is;
  }
}

/**
 * True if the answer to a call can have no effect: the call ran out of time, or the batcher was
 * closed during it.
 */
function isOver(model: Model, call: Call): boolean {
  const { handlerTimeoutMs = Number.POSITIVE_INFINITY, prefetch } = model.world.uses;
  const hasRunOut = prefetch === 0 && model.now > call.startedAt + handlerTimeoutMs;
  return hasRunOut || model.abandonedAt < Number.POSITIVE_INFINITY;
}
