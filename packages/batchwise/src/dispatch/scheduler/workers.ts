// Leases batches that are due and runs each through its steps until its lease is given back. What a step is comes from
// life-cycle.ts; this is only the hand that leads there. Batches of one account that are due for a poll share a list call.

import type { Account } from "../contract/account.ts";
import type { BatchChanges, BatchRow } from "../contract/rows.ts";
import { LIVE, nextStep } from "../decide/life-cycle.ts";
import type { Disposal } from "../format/payload.ts";
import { LeaseLost, Tenure } from "../runtime/lease.ts";
import type { Room } from "../runtime/runtime.ts";
import { collect } from "../steps/collect.ts";
import { dispose, drop } from "../steps/dispose.ts";
import { cancelBatch, listSeen, poll } from "../steps/poll.ts";
import { reconcile } from "../steps/reconcile.ts";
import { submit } from "../steps/submit.ts";
import { Gate } from "./semaphore.ts";

/** Leases held at once by one process. */
const MOST_TENURES = 100;
/** Of these, uploads, collections and disposals that run at once: they are what takes memory. */
const HEAVY_PLACES = 4;
/** Waiting batches looked at when a place on a ledger comes free. */
const WAITING_LOOKED_AT = 100;

export class Workers {
  readonly #room: Room;
  readonly #heavy: Gate = new Gate(HEAVY_PLACES);
  readonly #running: Set<Promise<void>> = new Set();
  /** When the batches that this process has let go fall due, by key. */
  readonly #dueAt: Map<string, number> = new Map();

  constructor(room: Room) {
    this.#room = room;
  }

  /** The loop's turn: takes what is due. For what others let go it is woken by the sealer's looks, and by free places. */
  readonly turn = async (): Promise<number> => {
    const now = this.#room.clock.now();
    const limit = MOST_TENURES - this.#running.size;
    if (limit > 0 && !this.#room.isStopping) await this.#lease({ limit });
    return this.#nextDueAt(now);
  };

  /** The earliest after `now`: what was due before has been taken, here or elsewhere, or waits for a place. */
  #nextDueAt(now: number): number {
    let earliest = Number.POSITIVE_INFINITY;
    for (const [key, at] of this.#dueAt) {
      if (at <= now) this.#dueAt.delete(key);
      else earliest = Math.min(earliest, at);
    }
    return earliest;
  }

  /**
   * Goes on with a batch that this process has just sealed, or leaves it to whoever has a place free. `begunAt`:
   * monotonic, before the sealing call.
   */
  async take(batch: BatchRow, begunAt: number): Promise<void> {
    const account = this.#room.options.accounts.get(batch.account);
    if (account === undefined || this.#running.size < MOST_TENURES) this.#begin([batch], begunAt);
    else await new Tenure(this.#room, account, batch, begunAt).end({});
  }

  /** Takes up one batch before it is due, unless somebody holds it. */
  async hurry(key: string): Promise<void> {
    if (!this.#room.isStopping) await this.#lease({ limit: 1, keys: [key] });
  }

  /** Takes quarantined batches out by hand: their members go back to the lane. Gives how many. */
  requeue(keys: readonly string[]): Promise<number> {
    const disposal = JSON.stringify({ kind: "requeue", code: "requeued" } satisfies Disposal);
    return this.#takeOut(keys, () => ({ state: "collecting", disposal }));
  }

  /** Takes quarantined batches out by hand, to go on where they stopped. Gives how many. */
  resume(keys: readonly string[]): Promise<number> {
    return this.#takeOut(keys, ({ providerBatchId }) => ({
      state: providerBatchId === null ? "sealed" : "submitted",
      lastError: null,
      pollMs: 0,
    }));
  }

  async #takeOut(keys: readonly string[], changes: (batch: BatchRow) => BatchChanges): Promise<number> {
    const { store, clock, options } = this.#room;
    const begunAt = clock.monotonic();
    const now = clock.now();
    const accounts = [...options.accounts.keys()];
    const { owner, leaseMs } = options;
    const lease = { owner, now, leaseUntil: now + leaseMs, accounts, limit: keys.length, keys };
    let count = 0;
    for (const batch of await store.lease(lease)) {
      const tenure = new Tenure(this.#room, options.accounts.get(batch.account) as Account, batch, begunAt);
      const isAside = batch.state === "quarantined";
      await tenure.end(isAside ? { ...changes(batch), nextAt: now } : {});
      if (isAside) count += 1;
    }
    return count;
  }

  /** Resolves when every operation that runs has come to a halt. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #lease(which: { readonly limit: number; readonly keys?: readonly string[] }): Promise<void> {
    const { store, clock, options } = this.#room;
    const begunAt = clock.monotonic();
    const now = clock.now();
    const accounts = [...options.accounts.keys()];
    const { owner, leaseMs } = options;
    this.#begin(await store.lease({ owner, now, leaseUntil: now + leaseMs, accounts, ...which }), begunAt);
  }

  #begin(batches: readonly BatchRow[], begunAt: number): void {
    const polls = new Map<Account, Tenure[]>();
    for (const batch of batches) {
      const account = this.#room.options.accounts.get(batch.account);
      if (account === undefined) continue;
      const tenure = new Tenure(this.#room, account, batch, begunAt);
      const step = nextStep(batch, account, this.#room.clock.now());
      if (step.kind === "poll") polls.set(account, [...(polls.get(account) ?? []), tenure]);
      else this.#start(tenure, null);
    }
    for (const [account, tenures] of polls) {
      const look = tenures.length === 1 ? null : this.#look(account, tenures);
      for (const tenure of tenures) this.#start(tenure, look);
    }
  }

  /** A list call that fails costs nothing: each batch is then asked for by its id. */
  async #look(account: Account, tenures: readonly Tenure[]): Promise<void> {
    try {
      await listSeen(this.#room, account, tenures);
    } catch (error) {
      this.#room.report(error);
    }
  }

  #start(tenure: Tenure, look: Promise<void> | null): void {
    const run = this.#run(tenure, look).finally(() => {
      const wasFull = this.#running.size >= MOST_TENURES;
      this.#running.delete(run);
      if (wasFull) this.#room.working.wake();
    });
    this.#running.add(run);
  }

  async #run(tenure: Tenure, look: Promise<void> | null): Promise<void> {
    try {
      await look;
      while (!tenure.isOver) {
        if (this.#room.isStopping) await tenure.end((now) => ({ nextAt: Math.min(tenure.batch.nextAt, now) }));
        else await this.#step(tenure);
      }
      if (tenure.batch.state === "done") await this.#wakeWaiting(tenure.batch);
    } catch (error) {
      if (!(error instanceof LeaseLost)) this.#room.report(error);
    } finally {
      tenure.close();
      this.#letGo(tenure.batch);
    }
  }

  /** A lease that was not given back runs out by itself; whoever is here then takes it up. */
  #letGo({ key, state, nextAt, leaseUntil }: BatchRow): void {
    if (!LIVE.includes(state)) return;
    const at = Math.max(nextAt, leaseUntil);
    this.#dueAt.set(key, at);
    this.#room.working.wakeAt(at);
  }

  #step(tenure: Tenure): Promise<unknown> {
    const room = this.#room;
    const step = nextStep(tenure.batch, tenure.account, room.clock.now());
    switch (step.kind) {
      case "submit":
      case "repeat":
        return this.#heavily(() => submit(room, tenure, step.attempt));
      case "reconcile":
        return reconcile(room, tenure, step.since, step.mayRecreate);
      case "poll":
        return poll(room, tenure);
      case "cancel":
        return cancelBatch(room, tenure);
      case "collect":
        return this.#heavily(() => collect(room, tenure));
      case "dispose":
        return this.#heavily(() => dispose(room, tenure));
      case "drop":
        return drop(tenure);
      case "none":
        tenure.close();
        return Promise.resolve();
    }
  }

  /** Whose turn at the gate comes after the stop begins nothing: the lease is given back. */
  #heavily(work: () => Promise<void>): Promise<void> {
    return this.#heavy.run(async () => {
      if (!this.#room.isStopping) await work();
    });
  }

  /** The reservation that has just been released may be what the longest waiting batch of the ledger needs. */
  async #wakeWaiting({ account, ledger }: BatchRow): Promise<void> {
    const states = ["waiting_capacity"] as const;
    const waiting = await this.#room.store.batches({ account, states, limit: WAITING_LOOKED_AT });
    const first = waiting.findLast((batch) => batch.ledger === ledger);
    if (first !== undefined) await this.hurry(first.key);
  }
}
