// Limiters with the same options on one client and clock are the same object: their users wait in
// one order, and Redis counts them as one process. Holds them weakly.

import type { ResolvedRedisOptions } from "./options.ts";

interface Known<Limiter extends object> {
  readonly limiters: Map<string, WeakRef<Limiter>>;
  /** At this size, collected limiters are removed. */
  sweepAt: number;
}

const LEAST_SWEEP = 32;

export class KnownLimiters<Limiter extends object> {
  readonly #byClient: WeakMap<object, WeakMap<object, Known<Limiter>>> = new WeakMap();

  /** The limiter with these options, or a new one. */
  find(options: ResolvedRedisOptions, make: () => Limiter): Limiter {
    const { key, callsPerMinute, costPerMinute, burstMs, processes, timeoutMs } = options;
    const name = [callsPerMinute, costPerMinute, burstMs, processes, timeoutMs, key].join(" ");
    const known = this.#knownTo(options);
    const found = known.limiters.get(name)?.deref();
    if (found !== undefined) return found;
    const made = make();
    known.limiters.set(name, new WeakRef(made));
    if (known.limiters.size >= known.sweepAt) sweep(known);
    return made;
  }

  #knownTo({ client, clock }: ResolvedRedisOptions): Known<Limiter> {
    const byClock = this.#byClient.get(client) ?? new WeakMap<object, Known<Limiter>>();
    this.#byClient.set(client, byClock);
    const known = byClock.get(clock) ?? { limiters: new Map(), sweepAt: LEAST_SWEEP };
    byClock.set(clock, known);
    return known;
  }
}

function sweep<Limiter extends object>(known: Known<Limiter>): void {
  for (const [name, limiter] of known.limiters) {
    if (limiter.deref() === undefined) known.limiters.delete(name);
  }
  known.sweepAt = Math.max(LEAST_SWEEP, known.limiters.size * 2);
}
