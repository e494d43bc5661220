// `map`: the results of a source of any length, with a bounded number of pending items.
//
// Takes an item from the source only while fewer than `maxPending` results are unread, and not
// before the first read. Each is a submit that never rejects, so no rejection is unhandled; a full
// queue is waited for. When the iteration ends in any way (break, failure, abort, end of the
// source), pending items are cancelled and the source is closed once.

import { type BatchwiseError, closedError } from "../contract/errors.ts";
import type { FailedOutcome } from "../contract/outcome.ts";
import { ignoreFailure } from "../contract/thenable.ts";
import type { MapOptions, SubmitManyOptions } from "../contract/types.ts";
import { aBoolean, check, checkIsObject, unboundedIntegerFrom } from "../contract/validate.ts";
import type { Recipient } from "../queue/recipient.ts";
import { reasonOf } from "./abort-signals.ts";
import type { Admission } from "./admission.ts";
import type { Intake } from "./intake.ts";
import { OpenedSource } from "./opened-source.ts";
import { aSignal } from "./read-item.ts";
import type { Services } from "./services.ts";

type Outcome = PromiseSettledResult<unknown>;
type Result = IteratorResult<unknown, undefined>;

/** A pending `next()`. */
interface PendingNext {
  resolve(result: Result): void;
  reject(reason: unknown): void;
}

/** The batcher that gets the items. */
interface MapTarget {
  readonly services: Services;
  readonly admission: Admission;
  readonly intake: Intake;
  /** The options of a call, in the names of the intake. */
  submitOptions(given: object, isMany: boolean): SubmitManyOptions<unknown>;
  /**
   * Called when a reader begins or ceases to wait for pending items while no more are taken: this
   * map submits nothing more that could fill a batch.
   */
  noteStuck(isStuck: boolean): void;
}

/** The default of `maxPending` is at most this. */
const MOST_PENDING = 10_000;

/** A taken item, and the recipient of its answer. */
class Place implements Recipient {
  readonly size = 1;
  readonly countsItself = false;
  readonly dueAt: number = Infinity;
  readonly isAborted = false;
  /** Null while it is pending. */
  outcome: Outcome | null = null;
  next: Place | null = null;
  /** Called with the outcome of a submit, or with the error of a refusal. */
  resolve: (answer: Outcome | BatchwiseError) => void = () => {};

  succeed(value: unknown): void {
    this.resolve({ status: "fulfilled", value });
  }

  /** A full queue and a latency target refuse; the item may be submitted again. */
  fail(reason: unknown, outcome: FailedOutcome): void {
    const error = reason as BatchwiseError;
    const isRefusal = outcome === "rejected" && (error.code === "QUEUE_FULL" || error.code === "OVERLOADED");
    this.resolve(isRefusal ? error : { status: "rejected", reason });
  }
}

const END: Result = Object.freeze({ done: true, value: undefined });

export class Mapping implements AsyncIterableIterator<unknown, undefined> {
  readonly #target: MapTarget;
  readonly #source: OpenedSource;
  readonly #isOrdered: boolean;
  readonly #isSettled: boolean;
  readonly #maxPending: number;
  /** The options of each submit, in the names of the user. */
  readonly #options: object;
  readonly #cancel: AbortController = new AbortController();
  /** Observed from the first read on. */
  #signal: AbortSignal | undefined;
  #unfollow: () => void = () => {};
  /** Items in reading order: source order, or the order of outcomes. */
  #first: Place | null = null;
  #last: Place | null = null;
  /** Number of taken and unread items. */
  #pending = 0;
  readonly #pendingNexts: PendingNext[] = [];
  #isTaking = false;
  /** No more items are taken: the source has ended, or an item has failed. */
  #takesNoMore = false;
  /** The error after the results. */
  #error: { readonly reason: unknown } | null = null;
  #isOver = false;
  #isStuck = false;
  /** While the batcher is overloaded: resolves when items may be submitted again. */
  #pause: Promise<void> | null = null;
  #endPause: () => void = () => {};

  /** Throws INVALID_OPTION, and the source's error when it is opened. */
  constructor(source: unknown, given: unknown, target: MapTarget) {
    checkIsObject("options", given);
    const options: MapOptions<unknown> = given ?? {};
    const { maxBatchSize, concurrency, maxQueueSize } = target.services.options;
    const standard = Math.min(2 * maxBatchSize * concurrency, maxQueueSize, MOST_PENDING);
    const { ordered = true, maxPending = standard, settled = false, signal, ...submit } = options;
    check("ordered", aBoolean, ordered);
    check("maxPending", unboundedIntegerFrom(1), maxPending);
    check("settled", aBoolean, settled);
    if (signal !== undefined) check("signal", aSignal, signal);
    this.#target = target;
    this.#isOrdered = ordered;
    this.#isSettled = settled;
    this.#maxPending = maxPending;
    this.#options = { ...submit, signal: this.#cancel.signal };
    this.#source = new OpenedSource(source);
    this.#signal = signal;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Result> {
    this.#follow();
    return new Promise((resolve, reject) => {
      this.#pendingNexts.push({ resolve, reject });
      this.#deliver();
    });
  }

  async return(): Promise<Result> {
    this.#error = null;
    const closed = this.#end();
    this.#deliver();
    await closed;
    return END;
  }

  async throw(error: unknown): Promise<Result> {
    await this.return();
    throw error;
  }

  #follow(): void {
    const signal = this.#signal;
    if (signal === undefined || this.#isOver) return;
    this.#signal = undefined;
    const abort = (): void => this.#fail(reasonOf(signal));
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener("abort", abort, { once: true });
    this.#unfollow = () => signal.removeEventListener("abort", abort);
  }

  /** Gives available results to readers, then takes more. */
  #deliver(): void {
    while (this.#pendingNexts.length > 0) {
      const outcome = this.#first?.outcome ?? null;
      if (outcome !== null) this.#give(outcome);
      else if (this.#isOver || (this.#takesNoMore && this.#pending === 0)) this.#giveEnd();
      else break;
    }
    if (this.#mayTake() && !this.#isTaking) void this.#take();
    const isStuck = this.#pendingNexts.length > 0 && !this.#isOver && !this.#mayTake();
    if (isStuck === this.#isStuck) return;
    this.#isStuck = isStuck;
    this.#target.noteStuck(isStuck);
  }

  #give(outcome: Outcome): void {
    if (outcome.status === "rejected" && !this.#isSettled) {
      this.#error = { reason: outcome.reason };
      ignoreFailure(this.#end());
      return;
    }
    const place = this.#first as Place;
    this.#first = place.next;
    // An answered place keeps no later one alive, nor does the mapping keep the last result.
    place.next = null;
    if (this.#first === null) this.#last = null;
    this.#pending -= 1;
    const value = this.#isSettled || outcome.status === "rejected" ? outcome : outcome.value;
    this.#pendingNexts.shift()?.resolve({ done: false, value });
  }

  /** One reader gets the error, if there is one; all others get the end. */
  #giveEnd(): void {
    const error = this.#error;
    this.#error = null;
    ignoreFailure(this.#end());
    const reader = this.#pendingNexts.shift();
    if (error === null) reader?.resolve(END);
    else reader?.reject(error.reason);
  }

  #fail(reason: unknown): void {
    this.#error = { reason };
    ignoreFailure(this.#end());
    this.#deliver();
  }

  /** Cancels pending items and closes the source. Rejects with the source's error on closing. */
  async #end(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#unfollow();
    this.#endPause();
    this.#first = null;
    this.#last = null;
    if (this.#pending > 0) this.#cancel.abort();
    await this.#source.close();
  }

  #mayTake(): boolean {
    return !this.#isOver && !this.#takesNoMore && this.#pending < this.#maxPending;
  }

  async #take(): Promise<void> {
    this.#isTaking = true;
    try {
      while (this.#mayTake()) await this.#takeNext();
    } catch (reason) {
      this.#takesNoMore = true;
      if (!this.#isOver) this.#error = { reason };
    }
    this.#isTaking = false;
    this.#deliver();
  }

  /** Throws the source's error, or that of a closed batcher. */
  async #takeNext(): Promise<void> {
    const { admission, intake, services } = this.#target;
    if (intake.isClosed) throw closedError(services.name);
    if (this.#isFull) {
      await admission.ready();
      return;
    }
    const step = await this.#source.next();
    if (this.#isOver) return;
    if (step.done === true) this.#takesNoMore = true;
    else void this.#run(step.value);
  }

  /** Never rejects. */
  async #run(item: unknown): Promise<void> {
    const place = new Place();
    this.#pending += 1;
    if (this.#isOrdered) this.#append(place);
    const outcome = await this.#submit(item, place);
    if (outcome === null || this.#isOver) return;
    place.outcome = outcome;
    if (!this.#isOrdered) this.#append(place);
    if (outcome.status === "rejected" && !this.#isSettled) this.#takesNoMore = true;
    this.#deliver();
  }

  /**
   * Submits an item when the queue has a free place, and again if it was refused; null if the
   * iteration ends first.
   */
  async #submit(item: unknown, place: Place): Promise<Outcome | null> {
    const { admission, intake, submitOptions } = this.#target;
    while (!this.#isOver) {
      if (this.#pause !== null) await this.#pause;
      else if (this.#isFull) await admission.ready();
      else {
        const answer = await new Promise<Outcome | BatchwiseError>((resolve) => {
          place.resolve = resolve;
          intake.acceptAll([item], submitOptions(this.#options, true), place);
        });
        if ("status" in answer) return answer;
        this.#waitOut(answer.retryAfterMs);
      }
    }
    return null;
  }

  /**
   * True while a submit would be refused or make another drop. A submit to a closed batcher rejects
   * with its error.
   */
  get #isFull(): boolean {
    const { admission, intake, services } = this.#target;
    return !intake.isClosed && services.options.onFull !== "wait" && admission.isFull;
  }

  /** All items wait until the first that was refused may be submitted again. */
  #waitOut(ms: number | undefined): void {
    if (ms === undefined || this.#isOver) return;
    const { clock } = this.#target.services;
    this.#pause ??= new Promise((resolve) => {
      this.#endPause = () => {
        clock.clearTimeout(timer);
        this.#pause = null;
        resolve();
      };
      const timer = clock.setTimeout(this.#endPause, ms);
    });
  }

  #append(place: Place): void {
    if (this.#last === null) this.#first = place;
    else this.#last.next = place;
    this.#last = place;
  }
}
