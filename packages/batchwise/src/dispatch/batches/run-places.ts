// Limits the batches that one account runs itself at once in this process. A pass whose results the
// store refuses waits with them, because its lines must not run again. It gives up its place
// meanwhile, so that one batch with refused results blocks no other. If the store refuses all
// results, the account stops once this many passes wait.

import type { Account } from "../contract/account.ts";

/** Maximum running passes. Other batches are left to other processes. */
const MOST_RUNNING = 2;
/** Maximum passes that wait with their results. Further ones keep their places. */
const MOST_WAITING = 4;

/** Called when the pass begins to wait for the store, and when it continues. */
export type OnWaiting = (waits: boolean) => void;

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
