// Callers that are more than a bare promise. A Ticket is one caller who may leave before the answer: by signal or by
// deadline. A Call is one submitMany; its members need no promises of their own. Both are settled exactly once.

import { deadlineError } from "../contract/errors.ts";
import type { Events } from "../contract/events.ts";
import type { FailedOutcome, ItemOutcome } from "../contract/outcome.ts";
import type { Pressing } from "../queue/lane.ts";
import type { Addressee, Party, Resolve, Seating, Sink } from "../queue/recipient.ts";
import type { Tally } from "../stats/recorder.ts";
import type { Clock } from "../time/clock.ts";
import type { Agenda, Due } from "../time/deadlines.ts";
import type { Watch, Watcher, Watches } from "./abort-signals.ts";

/** What all callers of one batcher share. */
export interface Desk {
  readonly clock: Clock;
  readonly tally: Tally;
  readonly events: Events;
  readonly agenda: Agenda;
  readonly watches: Watches;
  /** A caller has left the queue or its batch: there may be something to decide. */
  left(): void;
}

export function succeed(sink: Sink, value: unknown, now: number, position: number): void {
  if (typeof sink === "function") sink(value);
  else sink.succeed(value, now, position);
}

/** A bare promise is rejected through its resolve function, so that an entry need not keep its reject function too. */
export function fail(sink: Sink, error: unknown, outcome: FailedOutcome, now: number, position: number): void {
  if (typeof sink === "function") sink(Promise.reject(error));
  else sink.fail(error, outcome, now, position);
}

/** Resolves when all that `fail` has rejected by now is known to those who wait for it: a few promise jobs later. */
export async function afterRejections(): Promise<void> {
  for (let job = 0; job < 3; job += 1) await null;
}

/** Ends an entry that no batch has: counts it unless its party counts itself. */
export function refuse(desk: Desk, { sink, position, time }: Addressee, error: unknown, outcome: FailedOutcome): void {
  const now = desk.clock.now();
  if (typeof sink === "function" || !sink.countsItself) {
    desk.tally.ended(outcome, 1);
    if (desk.events.hears("item")) desk.events.emit("item", { outcome, latencyMs: now - time });
  }
  fail(sink, error, outcome, now, position);
}

/** Where several callers share one entry; see dedupe.ts. */
export interface SharedEntry {
  readonly isWaiting: boolean;
  detach(ticket: Ticket): void;
}

export class Ticket implements Party, Due, Watcher {
  readonly countsItself = true;
  readonly #desk: Desk;
  /** Let go of, with its place, when it is over: lists of deadlines may keep the rest of it for a while. */
  #answer: Sink | null;
  readonly #position: number;
  readonly #submittedAt: number;
  readonly #timeoutMs: number;
  readonly dueAt: number;
  #watch: Watch | null = null;
  #seating: Seating | null = null;
  #index = 0;
  shared: SharedEntry | null = null;
  watchIndex = 0;
  heaped = false;
  isOver = false;

  /** `timeoutMs` may be Infinity. A deadline runs, and a signal is watched, from this very moment on. */
  constructor(desk: Desk, answer: Addressee, timeoutMs: number, signal: AbortSignal | undefined) {
    const isEndless = timeoutMs === Number.POSITIVE_INFINITY;
    const now = isEndless ? answer.time : desk.clock.now();
    this.#desk = desk;
    this.#answer = answer.sink;
    this.#position = answer.position;
    this.#submittedAt = answer.time;
    this.#timeoutMs = timeoutMs;
    this.dueAt = now + timeoutMs;
    if (signal !== undefined) this.#watch = desk.watches.add(signal, this);
    if (!isEndless) desk.agenda.add(this, now);
  }

  get isWaiting(): boolean {
    if (this.isOver) return false;
    return this.shared === null ? (this.#seating?.holdsWaiting ?? false) : this.shared.isWaiting;
  }

  seat(seating: Seating, index: number): void {
    this.#seating = seating;
    this.#index = index;
  }

  succeed(value: unknown, now: number): void {
    if (this.isOver) return;
    this.#end();
    this.#count("completed", now);
    succeed(this.#takeAnswer(), value, now, this.#position);
  }

  fail(error: unknown, outcome: FailedOutcome, now: number): void {
    if (this.isOver) return;
    this.#end();
    this.#count(outcome, now);
    fail(this.#takeAnswer(), error, outcome, now, this.#position);
  }

  aborted(reason: unknown): void {
    this.#tell(reason, "cancelled");
  }

  ring(): void {
    if (this.depart()) this.#tell(deadlineError(this.#timeoutMs), "expired");
  }

  depart(): boolean {
    if (this.isOver) return false;
    const { shared } = this;
    const seating = this.#seating;
    this.#end();
    if (shared !== null) shared.detach(this);
    else seating?.vacate(this.#index);
    return true;
  }

  #tell(error: unknown, outcome: FailedOutcome): void {
    const now = this.#desk.clock.now();
    this.#count(outcome, now);
    fail(this.#takeAnswer(), error, outcome, now, this.#position);
    this.#desk.left();
  }

  /** Who is to be told, once. */
  #takeAnswer(): Sink {
    const answer = this.#answer as Sink;
    this.#answer = null;
    return answer;
  }

  #end(): void {
    this.isOver = true;
    this.#watch?.remove(this);
    this.#watch = null;
    this.#seating = null;
    this.shared = null;
    if (this.heaped) this.#desk.agenda.noteOver();
  }

  #count(outcome: ItemOutcome, now: number): void {
    const latencyMs = now - this.#submittedAt;
    const { tally, events } = this.#desk;
    if (outcome === "completed" || outcome === "failed") tally.answered(outcome, latencyMs);
    else tally.ended(outcome, 1);
    if (events.hears("item")) events.emit("item", { outcome, latencyMs });
  }
}

/** An entry in a lane's list of deadlines that its wait must not run into. */
export class PressingTicket implements Pressing {
  readonly #ticket: Ticket;
  heaped = false;

  constructor(ticket: Ticket) {
    this.#ticket = ticket;
  }

  get deadlineAt(): number {
    return this.#ticket.dueAt;
  }

  get isWaiting(): boolean {
    return this.#ticket.isWaiting;
  }
}

/** One submitMany or submitSettled: collects the results of its members by their position in it. */
export class Call implements Party {
  readonly countsItself = false;
  readonly #results: unknown[];
  readonly #resolve: Resolve;
  readonly #isSettled: boolean;
  #left: number;
  #hasFailed = false;

  constructor(size: number, isSettled: boolean, resolve: Resolve) {
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

  fail(reason: unknown, _outcome: FailedOutcome, _now: number, position: number): void {
    if (this.#isSettled) this.#results[position] = { status: "rejected", reason };
    else if (!this.#hasFailed) this.#resolve(Promise.reject(reason));
    this.#hasFailed = true;
    this.#left -= 1;
    if (this.#left === 0) this.#resolve(this.#results);
  }

  seat(): void {}
}
