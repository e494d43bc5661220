// Applies the schedule to the batcher, and watches every promise that it returns.

import type { Batcher, ItemOutcome, SubmitOptions } from "batchwise";
import type { Model } from "./model.ts";
import type { Caller, Place, Sight } from "./record.ts";
import { type Action, type Item, type Plan, SHARED_SIGNALS } from "./schedule.ts";
import type { Limits } from "./world.ts";

export class Driver {
  readonly #model: Model;
  readonly #batcher: Batcher<Item, unknown>;
  readonly #shared: AbortController[] = Array.from({ length: SHARED_SIGNALS }, () => new AbortController());
  readonly #own: AbortController[] = [];
  /** Calls of `ready()` without an answer. */
  readyOpen = 0;
  /** Calls of `idle()` without an answer. */
  idleOpen = 0;
  closing: Promise<void> | undefined;
  isClosed = false;
  closeError: unknown;

  constructor(model: Model, batcher: Batcher<Item, unknown>) {
    this.#model = model;
    this.#batcher = batcher;
  }

  async act(action: Action): Promise<void> {
    const model = this.#model;
    model.isActing = true;
    model.note(() => `act ${action.kind} ${"plans" in action ? action.plans.length : JSON.stringify(action)}`);
    if (action.kind === "submit") await this.#submitEach(action.plans, action.isSpread);
    else if (action.kind === "submitMany") this.#submitMany(action.plans);
    else if (action.kind === "submitSettled") await this.#submitSettled(action.plans);
    else if (action.kind === "abort") this.#abort(action.draw, action.isShared);
    else if (action.kind === "configure") this.#configure(action.changes);
    else if (action.kind === "close") this.close(action.drain);
    else if (action.kind === "flush") this.#flush(action.key);
    else if (action.kind === "forget") this.#forget(action.equal, action.key);
    else this.#control(action.kind);
    model.isActing = false;
  }

  #control(kind: "pause" | "resume" | "ready" | "look" | "idle" | "resetStats"): void {
    const model = this.#model;
    if (kind === "ready") this.#ready();
    else if (kind === "look") this.#look();
    else if (kind === "idle") this.#idle();
    else if (kind === "resetStats") this.#resetStats();
    else {
      model.steadySince = model.now;
      model.isPaused = kind === "pause";
      this.#batcher[kind]();
    }
  }

  close(drain: boolean): void {
    const model = this.#model;
    const wasActing = model.isActing;
    model.isActing = true;
    if (drain && !model.isClosed) model.closes();
    model.closedAt = Math.min(model.closedAt, model.now);
    if (!drain) model.abandonedAt = Math.min(model.abandonedAt, model.now);
    const promise = this.#batcher.close({ drain });
    model.expect(promise === (this.closing ?? promise), "close", () => "returned another promise");
    model.expect(this.#batcher.closed, "close", () => "closed was false");
    if (this.closing === undefined) this.#watchClose(promise);
    this.closing = promise;
    model.isActing = wasActing;
  }

  #watchClose(promise: Promise<void>): void {
    const model = this.#model;
    const done = (): void => {
      this.isClosed = true;
      const open = model.openCallers().filter((caller) => caller.refusal !== "closed");
      model.expect(open.length === 0, "close drains", () => `resolved before ${open.map(nameOf)} had settled`);
    };
    promise.then(done, (error: unknown) => {
      this.closeError = error;
      done();
    });
  }

  async #submitEach(plans: readonly Plan[], isSpread: boolean): Promise<void> {
    const model = this.#model;
    const { equals, onFull } = model.world.uses;
    const mayDropEqual = equals > 0 && onFull === "drop-oldest";
    for (const plan of plans) {
      if (isSpread) await null;
      const { abort, options } = this.#optionsOf(plan);
      const before = endings(model);
      const blocked = this.#blocked();
      const caller = model.submits(plan, abort, model.world.uses.smallCallFirst >= 1, "each");
      model.current = caller;
      this.#watch(caller, this.#batcher.submit(plan.item, options));
      model.current = undefined;
      this.#noteBlocked(blocked, [caller]);
      this.#noteEndings(before, [caller]);
      if (mayDropEqual) await delivered();
    }
  }

  async #submitSettled(plans: readonly Plan[]): Promise<void> {
    const model = this.#model;
    const mayReject = model.world.uses.onFull === "reject";
    if (mayReject && plans.length <= model.limits.maxQueueSize) {
      await this.#submitEach(plans, false);
      return;
    }
    model.isTooMany = mayReject;
    this.#submitAll(plans, "end", (items, options, callers) => {
      this.#batcher.submitSettled(items, options).then((results) => {
        this.#model.expect(results.length === callers.length, "submitSettled", () => "another number of results");
        for (const [index, result] of results.entries()) {
          const caller = callers[index] as Caller;
          if (result.status === "fulfilled") this.#ok(caller, result.value);
          else this.#failed(caller, result.reason);
        }
      });
    });
    model.isTooMany = false;
  }

  /** The outcomes of members that settle before the call are visible only when the call settles. */
  #submitMany(plans: readonly Plan[]): void {
    const model = this.#model;
    this.#submitAll(plans, "none", (items, options, callers) => {
      this.#batcher.submitMany(items, options).then(
        (values) => {
          model.expect(values.length === callers.length, "submitMany", () => "another number of results");
          for (const [index, value] of values.entries()) {
            const { place, plan } = callers[index] as Caller;
            const isOwn = place?.answer?.isOk === true && Object.is(place.answer.is, value);
            model.expect(isOwn, "own result", () => `submitMany: ${String(value)} for item ${plan.item.id}`);
          }
        },
        (error: unknown) => {
          model.note(() => `submitMany failed: ${String(error)}`);
        },
      );
    });
  }

  #submitAll(
    plans: readonly Plan[],
    sees: Sight,
    submit: (items: Item[], options: SubmitOptions | undefined, callers: readonly Caller[]) => void,
  ): void {
    const model = this.#model;
    const [first] = plans;
    if (first === undefined) return;
    const { abort, options } = this.#optionsOf(first);
    const before = endings(model);
    const blocked = this.#blocked();
    const isSmall = plans.length <= model.world.uses.smallCallFirst;
    const callers = plans.map((plan) => model.submits(plan, abort, isSmall, sees));
    [model.current] = callers;
    submit(
      plans.map((plan) => plan.item),
      options,
      callers,
    );
    model.current = undefined;
    this.#noteBlocked(blocked, callers);
    this.#noteEndings(before, callers);
  }

  /** Number of blocked submits before a submit. */
  #blocked(): number {
    this.#model.syncRoom(false);
    return this.#model.blocked();
  }

  /**
   * Of the places that a submit took, the last are blocked: as many as the count of blocked ones
   * has grown by.
   */
  #noteBlocked(before: number, callers: readonly Caller[]): void {
    const model = this.#model;
    if (model.world.uses.onFull !== "wait" || model.isTangled) return;
    const added = callers.flatMap((caller) => (isNew(caller) ? [caller.place as Place] : []));
    const count = model.blocked() - before;
    for (const [index, place] of added.entries()) place.isInside = index < added.length - count;
  }

  /** Undefined if there are no options: the batcher has a fast path for that. */
  #optionsOf({ wishes }: Plan): { abort: AbortController | undefined; options: SubmitOptions | undefined } {
    const { signal, ...rest } = wishes;
    if (signal === undefined) return { abort: undefined, options: Object.keys(rest).length === 0 ? undefined : rest };
    const abort = signal === "own" ? new AbortController() : (this.#shared[signal] as AbortController);
    if (signal === "own") this.#own.push(abort);
    return { abort, options: { ...rest, signal: abort.signal } };
  }

  /** If something ended inside a submit, its callers get their answers in a promise job. */
  #noteEndings(before: number, callers: readonly Caller[]): void {
    const model = this.#model;
    const isForeseen = callers.every((caller) => caller.refusal !== undefined);
    if (endings(model) > before || !model.world.uses.listens) model.isStale ||= !isForeseen;
    const [caller] = callers;
    if (callers.length === 1 && model.world.uses.onFull === "reject" && endings(model) > before && caller?.place) {
      caller.place.state = "answered";
    }
  }

  #watch(caller: Caller, promise: Promise<unknown>): void {
    promise.then(
      (value) => this.#ok(caller, value),
      (error: unknown) => this.#failed(caller, error),
    );
  }

  #ok(caller: Caller, value: unknown): void {
    this.#model.settled(caller, { isOk: true, value, at: this.#model.now });
  }

  #failed(caller: Caller, error: unknown): void {
    this.#model.settled(caller, { isOk: false, error, at: this.#model.now });
  }

  #abort(draw: number, isShared: boolean): void {
    const model = this.#model;
    const from = isShared ? this.#shared : this.#own;
    const abort = from[Math.floor(draw * from.length)];
    if (abort === undefined || abort.signal.aborted) return;
    for (const caller of model.callers) {
      if (caller.abort !== abort) continue;
      caller.abortedAt = model.now;
      caller.abortedInStep = model.step;
    }
    abort.abort(new Error(`aborted at ${model.now}`));
    if (isShared) this.#shared[this.#shared.indexOf(abort)] = new AbortController();
  }

  #configure(changes: Partial<Limits>): void {
    const model = this.#model;
    const next: Limits = { ...model.limits, ...changes };
    const isValid = (next.preferredBatchSize ?? next.maxBatchSize) <= next.maxBatchSize;
    const before = this.#batcher.options;
    try {
      this.#batcher.configure(changes);
      model.expect(isValid, "configure", () => `took ${JSON.stringify(changes)}`);
      model.reconfigured(next);
    } catch (error) {
      model.expect(!isValid && error instanceof RangeError, "configure", () => String(error));
      model.expect(this.#batcher.options === before, "configure", () => "changed something and threw");
    }
  }

  #flush(key: string | undefined): void {
    const model = this.#model;
    const isKnown = !model.isOpening && !model.isTangled;
    model.syncRoom(false);
    const covered = isKnown ? [...model.queued(model.now - 1), ...model.retrying()] : [];
    const places = covered.filter((place) => key === undefined || place.key === key);
    const sure = places.filter(({ lastCall }) => lastCall === undefined || lastCall.failedAt < model.now);
    const callers = sure.flatMap((place) => place.callers).filter((caller) => caller.sees === "each");
    const isExact = model.mayBeQueued().length === model.queued().length;
    const flush = { places, callers, key, isKnown: isKnown && isExact, isDone: false };
    model.flushes.push(flush);
    this.#batcher.flush(key === undefined ? undefined : { key }).then(() => {
      flush.isDone = true;
      const open = callers.filter((caller) => caller.outcome === undefined);
      model.expect(open.length === 0, "flush", () => `resolved before ${open.map(nameOf)} had settled`);
    });
  }

  /**
   * Does nothing while batches wait for `open`: those items run already, and the model does not
   * know which they are.
   */
  #forget(equal: string, key: string | undefined): void {
    const model = this.#model;
    if (model.isOpening && this.#batcher.inspect().length > 0) return;
    const deleted = model.deleted.length;
    model.forgets(equal, key);
    this.#batcher.forget(equal, key === undefined ? undefined : { key }).then(() => {
      const isDeleted = model.world.uses.cache === "none" || model.deleted.length > deleted;
      model.expect(isDeleted, "forget", () => `${equal} is still in the cache`);
    });
  }

  #resetStats(): void {
    const model = this.#model;
    const before = this.#batcher.stats();
    this.#batcher.resetStats();
    model.wasReset = true;
    for (const name of Object.keys(model.reset) as ItemOutcome[]) model.reset[name] += before[name];
    const { batches, busyMs, idleMs } = this.#batcher.stats();
    model.expect(batches + busyMs + idleMs === 0, "resetStats", () => `${batches} batches, ${busyMs} ms busy`);
  }

  #idle(): void {
    const model = this.#model;
    this.idleOpen += 1;
    this.#batcher.idle().then(() => {
      this.idleOpen -= 1;
      const { waiting, blocked, running } = this.#batcher.stats();
      const isIdle = waiting + blocked + running === 0 || model.isActing || model.isTangled;
      model.expect(isIdle, "idle", () => `resolved while ${waiting} wait, ${blocked} are blocked and ${running} run`);
    });
  }

  #ready(): void {
    const model = this.#model;
    this.readyOpen += 1;
    this.#batcher.ready().then(
      () => {
        this.readyOpen -= 1;
        // Items of a call that failed in between are back, and may have taken the room.
        const back = model.retrying().filter(({ lastCall }) => lastCall?.failedAt === model.now).length;
        const waiting = this.#batcher.stats().waiting - back;
        const hasRoom = waiting < model.limits.maxQueueSize || model.isActing || model.isTangled;
        model.expect(hasRoom || model.isOpening, "ready", () => `resolved while ${waiting} wait`);
      },
      () => {
        this.readyOpen -= 1;
        model.expect(model.isClosed, "ready", () => "rejected before close");
      },
    );
  }

  #look(): void {
    const { model, stats } = { model: this.#model, stats: this.#batcher.stats() };
    model.expect(Object.isFrozen(stats) && Object.isFrozen(stats.batchesByReason), "stats", () => "is not frozen");
    model.expect(Object.isFrozen(this.#batcher.options), "options", () => "is not frozen");
  }
}

/** Enough promise jobs for a rejection to reach its caller, within the same turn. */
async function delivered(): Promise<void> {
  for (let job = 0; job < 24; job += 1) await null;
}

function endings({ heard }: Model): number {
  return heard.completed + heard.failed + heard.cancelled + heard.expired + heard.rejected;
}

function nameOf(caller: Caller): number {
  return caller.plan.item.id;
}

/** True for a caller who has just taken a place, in the queue or outside it. */
function isNew(caller: Caller): boolean {
  return caller.refusal === undefined && caller.place?.opener === caller && caller.place.state === "waiting";
}
