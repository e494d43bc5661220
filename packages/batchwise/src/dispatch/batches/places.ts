// Limits the heavy operations of one process that run at once. Each account has a share of the
// places; places beyond the shares go to any account. So an account with endless operations delays
// only its own work. Batches that an account runs itself have places of their own.

import type { Account } from "../contract/account.ts";

interface Waiter {
  readonly account: string;
  readonly start: () => void;
}

/** An account's share: an equal part, and at least one. */
export function shareOf(places: number, accounts: number): number {
  return Math.max(1, Math.floor(places / accounts));
}

export class Places {
  readonly #places: number;
  readonly #line: Waiter[] = [];
  /** Running operations by account; absent if there are none. */
  readonly #running: Map<string, number> = new Map();
  #total = 0;

  /** At most `places` operations run, and beyond these each account's share. */
  constructor(places: number) {
    this.#places = places;
  }

  /**
   * Runs `work` as soon as a place is free for the account. The waiting account with the fewest
   * running operations goes first.
   */
  async run<T>(account: string, work: () => Promise<T>): Promise<T> {
    if (this.#mayStart(account)) this.#add(account, 1);
    else await new Promise<void>((start) => this.#line.push({ account, start }));
    try {
      return await work();
    } finally {
      this.#add(account, -1);
      this.#startNext();
    }
  }

  #held(account: string): number {
    return this.#running.get(account) ?? 0;
  }

  #mayStart(account: string): boolean {
    if (this.#total < this.#places) return true;
    const active = new Set([account, ...this.#running.keys(), ...this.#line.map((waiter) => waiter.account)]);
    return this.#held(account) < shareOf(this.#places, active.size);
  }

  #add(account: string, more: number): void {
    this.#total += more;
    const held = this.#held(account) + more;
    if (held === 0) this.#running.delete(account);
    else this.#running.set(account, held);
  }

  /** Passes a place directly to the next waiter, so that a new caller cannot take it first. */
  #startNext(): void {
    let next: Waiter | undefined;
    for (const waiter of this.#line) {
      if (next === undefined || this.#held(waiter.account) < this.#held(next.account)) next = waiter;
    }
    if (next === undefined || !this.#mayStart(next.account)) return;
    this.#line.splice(this.#line.indexOf(next), 1);
    this.#add(next.account, 1);
    next.start();
    this.#startNext();
  }
}

/** Maximum running passes. Other batches are left to other processes. */
const MOST_RUNNING = 2;
/** Maximum passes that wait with their results. Further ones keep their places. */
const MOST_WAITING = 4;

/** Called when the pass begins to wait for the store, and when it continues. */
type OnWaiting = (waits: boolean) => void;

/**
 * Limits the batches that one account runs itself at once in this process. A pass whose results the
 * store refuses waits with them, because its lines must not run again. It gives up its place
 * meanwhile, so that one batch with refused results blocks no other. If the store refuses all
 * results, the account stops once MOST_WAITING passes wait.
 */
export class RunPlaces {
  readonly #held: Map<Account, { readonly running: number; readonly waiting: number }> = new Map();
  readonly #onFree: () => void;

  /** `onFree`: called when an account that was full has a free place. */
  constructor(onFree: () => void) {
    this.#onFree = onFree;
  }

  isFull(account: Account): boolean {
    const { running, waiting } = this.#of(account);
    return running + Math.max(0, waiting - MOST_WAITING) >= MOST_RUNNING;
  }

  /** Runs a pass, even without a free place. */
  async run(account: Account, pass: (onWaiting: OnWaiting) => Promise<void>): Promise<void> {
    let isWaiting = false;
    this.#change(account, 1, 0);
    try {
      await pass((waits) => {
        if (waits === isWaiting) return;
        isWaiting = waits;
        const more = waits ? 1 : -1;
        this.#change(account, -more, more);
      });
    } finally {
      this.#change(account, isWaiting ? 0 : -1, isWaiting ? -1 : 0);
    }
  }

  #of(account: Account): { readonly running: number; readonly waiting: number } {
    return this.#held.get(account) ?? { running: 0, waiting: 0 };
  }

  #change(account: Account, running: number, waiting: number): void {
    const wasFull = this.isFull(account);
    const before = this.#of(account);
    this.#held.set(account, { running: before.running + running, waiting: before.waiting + waiting });
    if (wasFull && !this.isFull(account)) this.#onFree();
  }
}
