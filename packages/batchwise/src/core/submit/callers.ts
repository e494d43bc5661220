// Callers. Most are a bare promise. A Caller may leave before the answer, by signal or by deadline;
// a ManyCall is one submitMany, whose items need no promises of their own. Each is settled exactly
// once.

import { BatchwiseError, deadlineError, nameError, overloadedCallError, type RefusedCall } from "../contract/errors.ts";
import type { FailedOutcome, ItemOutcome } from "../contract/outcome.ts";
import type { Entry } from "../queue/entry.ts";
import type { Recipient, Resolve } from "../queue/recipient.ts";
import { Due } from "../time/deadlines.ts";
import type { Moment } from "../time/turn.ts";
import { AbortSignals, type SharedSignal, type SignalListener } from "./abort-signals.ts";
import { countItems, type Services } from "./services.ts";

export function succeed(recipient: Resolve | Recipient, value: unknown, now: number, position: number): void {
  if (typeof recipient === "function") recipient(value);
  else recipient.succeed(value, now, position);
}

/**
 * Resolving a promise with this rejects it. A rejected promise would do as well, and is noticed by
 * the platform before anything handles it, which costs more than the refusal of an item.
 */
const rejection = (error: unknown): unknown => ({
  // biome-ignore lint/suspicious/noThenProperty: it is a thenable.
  then: (_: unknown, reject: (error: unknown) => void) => reject(error),
});

/**
 * A bare promise is rejected through its resolve function, so that an entry need not keep its
 * reject function too.
 */
function fail(
  recipient: Resolve | Recipient,
  error: unknown,
  outcome: FailedOutcome,
  now: number,
  position: number,
): void {
  if (typeof recipient === "function") recipient(rejection(error));
  else recipient.fail(error, outcome, now, position);
}

/**
 * Resolves when callers know of all rejections that `fail` has made so far: a few promise jobs
 * later.
 */
export async function afterRejections(): Promise<void> {
  for (let job = 0; job < 3; job += 1) await null;
}

/** A recipient, and the position and time of its item's submit. */
export type Addressed = Pick<Entry, "recipient" | "position" | "moment">;

/** True for callers that are counted one by one, as they end. */
export function countsItself(recipient: Resolve | Recipient): boolean {
  return typeof recipient !== "function" && recipient.countsItself;
}

/**
 * Ends an item with an error: counts it unless its recipient counts itself, and rejects. The reason
 * of a signal is the caller's own and gets no name.
 */
export function refuse(
  services: Services,
  addressed: Addressed,
  error: unknown,
  outcome: FailedOutcome,
  now: number = services.clock.now(),
): void {
  const { recipient, position, moment } = addressed;
  if (recipient === null) return;
  addressed.recipient = null;
  if (outcome !== "cancelled") nameError(error, services.name);
  if (!countsItself(recipient)) countItems(services, outcome, now - moment.at, 1, error);
  fail(recipient, error, outcome, now, position);
}

/**
 * CLOSED and ITEM_TOO_LARGE count as rejected; any other error thrown during intake is a user
 * function's failure. Never throws, for any `error`.
 */
export function refusalOf(error: unknown): "rejected" | "failed" {
  try {
    const isOurs = error instanceof BatchwiseError && (error.code === "CLOSED" || error.code === "ITEM_TOO_LARGE");
    return isOurs ? "rejected" : "failed";
  } catch {
    return "failed";
  }
}

/** Where a caller's item is: an entry of its own, or one that equal callers share. */
export interface CallerPlace {
  callerLeft(caller: Caller): void;
}

/** The `signal` and the `timeoutMs` of a submit; undefined if not given. */
export interface Patience {
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number | undefined;
}

/** The patience of a submit without these options. */
export const PATIENT: Patience = { signal: undefined, timeoutMs: undefined };

/** One caller who may leave. A deadline runs, and a signal is watched, from its construction on. */
export class Caller extends Due implements Recipient, SignalListener {
  readonly #services: Services;
  readonly #moment: Moment;
  readonly #timeoutMs: number;
  readonly #position: number;
  #recipient: Resolve | Recipient | null;
  #signal: SharedSignal | null = null;
  signalIndex = 0;
  place: CallerPlace | null = null;

  constructor(services: Services, addressed: Addressed, { signal, timeoutMs = services.options.timeoutMs }: Patience) {
    super();
    this.#services = services;
    this.#recipient = addressed.recipient;
    this.#position = addressed.position;
    this.#moment = addressed.moment;
    this.#timeoutMs = timeoutMs;
    if (signal !== undefined) {
      services.signals ??= new AbortSignals(services);
      this.#signal = services.signals.add(signal, this);
    }
    if (timeoutMs < Infinity) services.deadlines.set(this, timeoutMs);
  }

  get countsItself(): boolean {
    return true;
  }

  get isAborted(): boolean {
    return this.#signal?.isAborted === true;
  }

  succeed(value: unknown, now: number): void {
    const recipient = this.#end("completed", now);
    if (recipient !== null) succeed(recipient, value, now, this.#position);
  }

  fail(error: unknown, outcome: FailedOutcome, now: number): void {
    const recipient = this.#end(outcome, now, error);
    if (recipient !== null) fail(recipient, error, outcome, now, this.#position);
  }

  leave(): boolean {
    if (this.#recipient === null) return false;
    const { place } = this;
    this.#letGo();
    place?.callerLeft(this);
    return true;
  }

  aborted(reason: unknown): void {
    this.fail(reason, "cancelled", this.#services.clock.now());
    this.#services.turn.lookAgain();
  }

  expired(): void {
    this.fail(deadlineError(this.#services.name, this.#timeoutMs), "expired", this.#services.clock.now());
    this.#services.turn.lookAgain();
  }

  /** Counts the outcome; returns the recipient, or null if it has already settled. */
  #end(outcome: ItemOutcome, now: number, error?: unknown): Resolve | Recipient | null {
    const recipient = this.#recipient;
    if (recipient === null) return null;
    this.#recipient = null;
    this.#letGo();
    countItems(this.#services, outcome, now - this.#moment.at, 1, error);
    return recipient;
  }

  /** Releases its deadline, its signal and its place. */
  #letGo(): void {
    this.#services.deadlines.remove(this);
    this.#signal?.remove(this);
    this.#signal = null;
    this.place = null;
  }
}

/** One submitMany or submitSettled: collects the results of its items by their position in it. */
export class ManyCall implements Recipient {
  readonly countsItself = false;
  readonly dueAt: number = Infinity;
  readonly isAborted = false;
  readonly size: number;
  readonly #results: unknown[];
  readonly #resolve: Resolve;
  readonly #isSettled: boolean;
  #left: number;
  #hasFailed = false;
  #refusal: RefusedCall | null = null;

  constructor(size: number, isSettled: boolean, resolve: Resolve) {
    this.size = size;
    this.#results = new Array<unknown>(size);
    this.#left = size;
    this.#isSettled = isSettled;
    this.#resolve = resolve;
  }

  succeed(value: unknown, _now: number, position: number): void {
    this.#results[position] = this.#isSettled ? { status: "fulfilled", value } : value;
    this.#left -= 1;
    if (this.#left === 0) this.#resolve(this.#results);
  }

  fail(reason: unknown, outcome: FailedOutcome, _now: number, position: number): void {
    if (this.#isSettled) this.#results[position] = { status: "rejected", reason };
    else this.#reject(reason, outcome);
    this.#left -= 1;
    if (this.#left === 0) this.#resolve(this.#results);
  }

  /** Rejects with the first reason. The items that a target refuses are counted in it. */
  #reject(reason: unknown, outcome: FailedOutcome): void {
    const isOverload = outcome === "rejected" && (reason as BatchwiseError).code === "OVERLOADED";
    if (!this.#hasFailed) {
      if (isOverload) this.#refusal = overloadedCallError(reason as BatchwiseError, this.size);
      this.#resolve(rejection(this.#refusal ?? reason));
    }
    if (isOverload && this.#refusal !== null) this.#refusal.refused += 1;
    this.#hasFailed = true;
  }
}
