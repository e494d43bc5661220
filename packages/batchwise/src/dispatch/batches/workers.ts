// Leases batches that are due and runs the steps of each until its lease is given back.
// batches/life-cycle.ts says which step is next. Batches of one account that are due for a
// poll share a list call.

import type { Account } from "../contract/account.ts";
import type { LeaseInput } from "../contract/store/calls.ts";
import type { BatchChanges, BatchRow } from "../contract/store/rows.ts";
import { readable } from "../format/client-error.ts";
import type { Disposal } from "../format/payload.ts";
import { Lease, LeaseLost } from "../runtime/lease/lease.ts";
import { underLeases } from "../runtime/lease/leases-by-key.ts";
import { failureOf } from "../runtime/provider-calls.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { leaseInput } from "../runtime/store/store-time.ts";
import { collect } from "./collect/collect.ts";
import { endBatch, isSettled } from "./collect/end-batch.ts";
import { dispose, drop } from "./dispose/dispose.ts";
import { execute } from "./execute/execute.ts";
import { reconcile } from "./find/reconcile.ts";
import { LIVE, nextStep } from "./life-cycle.ts";
import { Places, RunPlaces, shareOf } from "./places.ts";
import { BEGUN_ANEW } from "./plan.ts";
import { cancelBatch, listSeen, poll } from "./poll/poll.ts";
import { stepFailed } from "./step-failed.ts";
import { submit } from "./submit/submit.ts";

/** How soon this process looks again at a batch that it has left to others. */
const LEFT_MS = 60_000;
/** Leases held at once by one process. An account may hold its share beyond this. */
const MOST_LEASES = 100;
/** Uploads, collections and disposals that run at once: these take memory. See `Places`. */
const HEAVY_PLACES = 4;
/** A batch of an account that runs as many as it may is left to other processes for so long. */
const LEFT_TO_OTHERS_MS = 1_000;
/** How many waiting batches are read when capacity on a ledger is released. */
const WAITING_LOOKED_AT = 100;
/** A batch that waits for room is tried again each hour at least. */
const LONGEST_WAIT_MS = 3_600_000;

export class Workers {
  readonly #runtime: Runtime;
  readonly #heavy: Places = new Places(HEAVY_PLACES);
  /** The runs of leases, each with its account. */
  readonly #running: Map<Promise<void>, string> = new Map();
  readonly #executed: RunPlaces;
  /** Leases that have ended so far. */
  ended = 0;
  /** When batches that this process has released fall due, by key. */
  readonly #dueAt: Map<string, number> = new Map();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#executed = new RunPlaces(() => runtime.working.wake());
  }

  /**
   * The loop's turn: leases due batches. The sealer's probes wake it for batches that other
   * processes released.
   */
  readonly turn = async (): Promise<number> => {
    const now = this.#runtime.clock.now();
    if (!this.#runtime.isStopping) await this.#leaseDue();
    return this.#nextDueAt(now);
  };

  /**
   * An account with very many due batches, or with batches that never end, leaves the others their
   * share of leases. Batches of one that runs as many as it may are left to other processes.
   */
  async #leaseDue(): Promise<void> {
    const limit = MOST_LEASES - this.#running.size;
    const all = [...this.#runtime.options.accounts.values()];
    const accounts = all.filter((account) => !this.#executed.isFull(account)).map(({ name }) => name);
    if (accounts.length === 0) return;
    if (limit > 0) return this.#lease({ limit, accounts });
    const share = shareOf(MOST_LEASES, accounts.length);
    const held = [...this.#running.values()];
    const below = accounts.filter((name) => held.filter((account) => account === name).length < share);
    if (below.length > 0) await this.#lease({ limit: share, accounts: below });
  }

  /**
   * The earliest due time after `now`. Batches due before are leased by now, or wait for a free
   * place.
   */
  #nextDueAt(now: number): number {
    let earliest = Number.POSITIVE_INFINITY;
    for (const [key, at] of this.#dueAt) {
      if (at <= now) this.#dueAt.delete(key);
      else earliest = Math.min(earliest, at);
    }
    return earliest;
  }

  /**
   * Goes on with a batch that this process has just sealed, or leaves it to another process.
   * `begunAt`: monotonic, before the sealing call.
   */
  async take(batch: BatchRow, begunAt: number): Promise<void> {
    const account = this.#runtime.options.accounts.get(batch.account);
    if (account === undefined || this.#running.size < MOST_LEASES) this.#begin([batch], begunAt);
    else await new Lease(this.#runtime, account, batch, begunAt).end({});
  }

  /**
   * Leases batches before they are due, except those that are leased already: as many as there are
   * free places, at least one.
   */
  async hurry(keys: readonly string[]): Promise<void> {
    const limit = Math.min(keys.length, Math.max(1, MOST_LEASES - this.#running.size));
    const accounts = [...this.#runtime.options.accounts.keys()];
    if (limit > 0 && !this.#runtime.isStopping) await this.#lease({ limit, keys, accounts });
  }

  /**
   * Sends the members of quarantined batches back to their lanes. Returns the number of batches.
   */
  requeue(keys: readonly string[]): Promise<number> {
    const disposal = JSON.stringify({ kind: "requeue", code: "requeued" } satisfies Disposal);
    return this.#takeOut(keys, () => ({ state: "collecting", disposal, lastError: null }));
  }

  /** Lets quarantined batches go on where they stopped. Returns the number of batches. */
  resume(keys: readonly string[]): Promise<number> {
    return this.#takeOut(keys, ({ providerBatchId }) => ({
      ...BEGUN_ANEW,
      state: providerBatchId === null ? "sealed" : "submitted",
      // The two days after which an operator has to decide start again.
      firstRefusedAt: null,
    }));
  }

  async #takeOut(keys: readonly string[], changes: (batch: BatchRow) => BatchChanges): Promise<number> {
    const taken = await underLeases(this.#runtime, keys, async (lease) => {
      const isQuarantined = lease.batch.state === "quarantined";
      await lease.end((now) => (isQuarantined ? { ...changes(lease.batch), nextAt: now } : {}));
      return isQuarantined;
    });
    return taken.filter((isQuarantined) => isQuarantined).length;
  }

  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  /** Resolves when no operation is running. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.keys());
  }

  async #lease(which: Pick<LeaseInput, "accounts" | "keys" | "limit">): Promise<void> {
    const { store, clock } = this.#runtime;
    const begunAt = clock.monotonic();
    this.#begin(await store.lease(await leaseInput(this.#runtime, which)), begunAt);
  }

  #begin(batches: readonly BatchRow[], begunAt: number): void {
    this.#runtime.budget?.storeAnswered();
    const polls = new Map<Account, Lease[]>();
    for (const batch of batches) {
      const account = this.#runtime.options.accounts.get(batch.account);
      if (account === undefined) continue;
      const lease = new Lease(this.#runtime, account, batch, begunAt);
      const step = nextStep(batch, account, this.#runtime.clock.now());
      if (step.kind === "poll") polls.set(account, [...(polls.get(account) ?? []), lease]);
      else this.#start(lease, null);
    }
    for (const [account, leases] of polls) {
      const look = leases.length === 1 ? null : this.#look(account, leases);
      for (const lease of leases) this.#start(lease, look);
    }
  }

  /** If the list call fails, each batch is retrieved by its id. */
  async #look(account: Account, leases: readonly Lease[]): Promise<void> {
    try {
      await listSeen(this.#runtime, account, leases);
    } catch (error) {
      if (this.#runtime.isStopping) return;
      const context = { account: account.name, operation: "list" } as const;
      this.#runtime.troubles.add({ error, failure: failureOf(account, error, "list"), context });
    }
  }

  #start(lease: Lease, look: Promise<void> | null): void {
    const run = this.#run(lease, look).finally(() => {
      const wasFull = this.#running.size >= MOST_LEASES;
      this.#running.delete(run);
      this.ended += 1;
      if (wasFull) this.#runtime.working.wake();
      this.#runtime.onRest();
    });
    this.#running.set(run, lease.account.name);
  }

  async #run(lease: Lease, look: Promise<void> | null): Promise<void> {
    try {
      await look;
      while (!lease.isOver) {
        if (isSettled(lease.batch)) await endBatch(this.#runtime, lease);
        else if (this.#runtime.isStopping) await lease.end((now) => ({ nextAt: Math.min(lease.batch.nextAt, now) }));
        else await this.#step(lease);
      }
      if (lease.batch.state === "done") await this.#wakeWaiting(lease.batch);
    } catch (error) {
      await this.#failed(lease, error);
    } finally {
      lease.close();
      await lease.giveBack();
      lease.tellStuck();
      this.#letGo(lease);
    }
  }

  async #failed(lease: Lease, reason: unknown): Promise<void> {
    const error = readable(reason);
    if (error instanceof LeaseLost) return;
    this.#runtime.report(error, lease.context("work"));
    try {
      await stepFailed(this.#runtime, lease, error);
    } catch (thrown) {
      if (!(thrown instanceof LeaseLost)) this.#runtime.report(thrown, lease.context("work"));
    }
  }

  /** Remembers when the batch falls due. A lease that was not given back expires first. */
  #letGo({ isLeft, batch: { key, state, nextAt, leaseUntil } }: Lease): void {
    if (!LIVE.includes(state)) return;
    const { clock, storeTime } = this.#runtime;
    const at = isLeft ? clock.now() + LEFT_MS : Math.max(nextAt, leaseUntil - storeTime.aheadMs);
    this.#dueAt.set(key, at);
    this.#runtime.working.wakeAt(at);
  }

  #step(lease: Lease): Promise<unknown> {
    const runtime = this.#runtime;
    const step = nextStep(lease.batch, lease.account, runtime.clock.now());
    switch (step.kind) {
      case "submit":
      case "repeat":
        return this.#heavily(lease, () => submit(runtime, lease, step.attempt));
      case "reconcile":
        return reconcile(runtime, lease, step.since, step.mayRecreate);
      case "poll":
        return poll(runtime, lease);
      case "execute":
        return this.#execute(lease);
      case "cancel":
        return cancelBatch(runtime, lease);
      case "collect":
        return this.#heavily(lease, () => collect(runtime, lease));
      case "dispose":
        return this.#heavily(lease, () => dispose(runtime, lease));
      case "drop":
        return drop(lease);
      case "none":
        lease.close();
        return Promise.resolve();
    }
  }

  /** Not among the heavy ones: it may take hours, and holds a page of lines. */
  async #execute(lease: Lease): Promise<void> {
    const { account } = lease;
    if (this.#executed.isFull(account)) await lease.end((now) => ({ nextAt: now + LEFT_TO_OTHERS_MS }));
    else await this.#executed.run(account, (onWaiting) => execute(this.#runtime, lease, onWaiting));
  }

  /**
   * Runs `work` in a place of the account. After the stop it does nothing: the lease is given back.
   */
  #heavily({ account }: Lease, work: () => Promise<void>): Promise<void> {
    return this.#heavy.run(account.name, async () => {
      if (!this.#runtime.isStopping) await work();
    });
  }

  /**
   * Leases the longest waiting batch of the ledger: the capacity just released may be enough for
   * it.
   */
  async #wakeWaiting({ account, ledger }: BatchRow): Promise<void> {
    const states = ["waiting_capacity"] as const;
    const waiting = await this.#runtime.store.batches({ account, states, limit: WAITING_LOOKED_AT });
    // A batch that waits for a day is too large for the limit itself.
    const soon = this.#runtime.clock.now() + LONGEST_WAIT_MS;
    const first = waiting.findLast((batch) => batch.ledger === ledger && batch.nextAt <= soon);
    if (first !== undefined) await this.hurry([first.key]);
  }
}
