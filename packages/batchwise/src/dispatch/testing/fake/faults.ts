// The book of scripted faults: which of them, if any, hits the next call. First written, first used.

import type { FakeFault, FakeOperation } from "./types.ts";

export class FaultBook {
  readonly #random: () => number;
  readonly #now: () => number;
  /** How many calls were hit. */
  hits = 0;
  #entries: { readonly fault: FakeFault; left: number }[] = [];

  constructor(random: () => number, now: () => number) {
    this.#random = random;
    this.#now = now;
  }

  add(fault: FakeFault): void {
    this.#entries.push({ fault, left: fault.times ?? 1 });
  }

  clear(): void {
    this.#entries = [];
  }

  /** The fault for this call, counted down; null: none. */
  take(operation: FakeOperation): FakeFault | null {
    for (const entry of this.#entries) {
      const { fault } = entry;
      const hits = fault.on === operation || (Array.isArray(fault.on) && fault.on.includes(operation));
      if (!hits || entry.left <= 0) continue;
      if (fault.until !== undefined && fault.until <= this.#now()) continue;
      if (fault.chance !== undefined && this.#random() >= fault.chance) continue;
      if (fault.until === undefined) entry.left -= 1;
      this.hits += 1;
      this.#entries = this.#entries.filter(({ left }) => left > 0);
      return fault;
    }
    return null;
  }
}
