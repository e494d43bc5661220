// One virtual world for tests of the dispatcher: a clock, a provider, a store, and dispatchers on
// them as processes that can be killed between any two of their steps, put to sleep, and given
// clocks that disagree.

import type { Account } from "../../../src/dispatch/contract/account.ts";
import type { Dispatcher } from "../../../src/dispatch/contract/dispatcher.ts";
import type { DispatcherOptions } from "../../../src/dispatch/contract/dispatcher-options.ts";
import { DispatchError } from "../../../src/dispatch/contract/errors.ts";
import type { Store } from "../../../src/dispatch/contract/store/store.ts";
import type { DispatchRequest } from "../../../src/dispatch/contract/types.ts";
import { createDispatcher } from "../../../src/dispatch/dispatcher.ts";
import { memoryStore } from "../../../src/dispatch/stores/memory/memory-store.ts";
import { type Clock, type VirtualClock, virtualClock } from "../../../src/testing/index.ts";

export const START: number = Date.UTC(2026, 0, 5, 8);

/** Numbers in [0, 1) that depend only on the seed. */
export function seeded(seed: number): () => number {
  let state = (seed * 2_654_435_761) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function ask(content: string, more: Partial<DispatchRequest> = {}): DispatchRequest {
  return { id: content, body: { model: "m", messages: [{ role: "user", content }] }, ...more };
}

/** Calls that the dispatchers of a clock's processes have made of accounts, and all that run. */
interface Calls {
  begun: number;
  open: number;
}

const calls = new WeakMap<VirtualClock, Calls>();

export function callsOf(time: VirtualClock): Readonly<Calls> {
  return calls.get(time) ?? { begun: 0, open: 0 };
}

/**
 * One process: whatever it awaits passes through here, so that it can stop for ever or for a while.
 */
export class SimProcess {
  readonly #time: VirtualClock;
  readonly #skewMs: number;
  #isDead = false;
  #asleepUntil = 0;
  #steppedMs = 0;
  readonly #calls: Calls;
  #open = 0;

  constructor(time: VirtualClock, skewMs = 0) {
    this.#time = time;
    this.#skewMs = skewMs;
    this.#calls = calls.get(time) ?? { begun: 0, open: 0 };
    calls.set(time, this.#calls);
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /**
   * None of its awaited promises resolves again, and none of its timers fires. Sent calls stay
   * sent.
   */
  kill(): void {
    if (!this.#isDead) this.#calls.open -= this.#open;
    this.#isDead = true;
  }

  sleep(ms: number): void {
    this.#asleepUntil = Math.max(this.#asleepUntil, this.#time.now() + ms);
  }

  /**
   * Moves its wall clock by `ms`, for `forMs` or for the rest of the run. Its monotonic clock does
   * not change.
   */
  step(ms: number, forMs: number = Number.POSITIVE_INFINITY): void {
    this.#steppedMs += ms;
    if (forMs < Number.POSITIVE_INFINITY) this.#time.setTimeout(() => this.step(-ms), forMs);
  }

  readonly clock: Clock = {
    now: () => this.#time.now() + this.#skewMs + this.#steppedMs,
    monotonic: () => this.#time.now(),
    setTimeout: (callback, delayMs) => this.#time.setTimeout(() => this.#ring(callback), delayMs),
    clearTimeout: (handle) => this.#time.clearTimeout(handle),
    hold: (work, atMostMs) => this.#count(work, atMostMs !== undefined),
  };

  /** A dispatcher holds calls of its store without a limit, all others with one. */
  #count<Value>(work: Promise<Value>, isOfAccount: boolean): Promise<Value> {
    if (this.#isDead) return work;
    if (isOfAccount) this.#calls.begun += 1;
    this.#open += 1;
    this.#calls.open += 1;
    const end = (): void => {
      this.#open -= 1;
      if (!this.#isDead) this.#calls.open -= 1;
    };
    work.then(end, end);
    return work;
  }

  #ring(callback: () => void): void {
    if (this.#isDead) return;
    const left = this.#asleepUntil - this.#time.now();
    if (left > 0) this.#time.setTimeout(() => this.#ring(callback), left);
    else callback();
  }

  /** Resolves when the process is awake; never if it is dead. */
  async awake(): Promise<void> {
    if (this.#isDead) await never();
    const left = this.#asleepUntil - this.#time.now();
    if (left <= 0) return;
    await new Promise<void>((resolve) => {
      this.#time.setTimeout(resolve, left);
    });
    await this.awake();
  }

  /** The same object, whose promises this process awaits. `around` may delay, fail or kill. */
  wrap<T extends object>(target: T, around: Around = (_name, call) => call()): T {
    const wrapped = new Map<string | symbol, unknown>();
    return new Proxy(target, {
      get: (object, name) => {
        const value: unknown = Reflect.get(object, name);
        if (typeof value !== "function") return value;
        if (!wrapped.has(name)) wrapped.set(name, this.#wrapMethod(object, String(name), value as Method, around));
        return wrapped.get(name);
      },
    });
  }

  #wrapMethod(object: object, name: string, method: Method, around: Around): Method {
    return (...given) => {
      const answer = (): unknown => method.apply(object, [...given]);
      if (PURE.includes(name)) return answer();
      if (name === "results" || name === "execute") return this.#stream(answer() as AsyncIterable<unknown>);
      return this.#through(() => around(name, async () => answer(), given));
    };
  }

  /**
   * The call is made at once, because a running process is awake. The answer waits until it is
   * awake again.
   */
  async #through(call: () => Promise<unknown>): Promise<unknown> {
    if (this.#isDead) await never();
    try {
      return await call();
    } finally {
      await this.awake();
    }
  }

  async *#stream(lines: AsyncIterable<unknown>): AsyncGenerator<unknown> {
    for await (const line of lines) {
      await this.awake();
      yield line;
    }
  }
}

const never = (): Promise<never> => new Promise(() => {});

type Method = (...given: readonly unknown[]) => unknown;
export type Around = (name: string, call: () => Promise<unknown>, given: readonly unknown[]) => Promise<unknown>;
const PURE = ["encodeLine", "checkBody", "isNamedByPlace", "jsonSchemasOf", "cachedPrefix", "classify", "secrets"];

export const storeDown = (): DispatchError => new DispatchError("STORE_UNAVAILABLE", "The store does not answer.");

export interface World {
  readonly time: VirtualClock;
  readonly store: Store;
  /** A dispatcher on the world's store, in a process of its own. */
  start(options: { readonly accounts: readonly Account[] } & Partial<DispatcherOptions>): Promise<Dispatcher>;
  /** Runs the clock until the condition holds, or fails after `withinMs`. */
  until(condition: () => Promise<boolean>, withinMs?: number): Promise<void>;
}

const HOUR = 3_600_000;

export function world(seed = 1): World {
  const time = virtualClock(START);
  const store = memoryStore();
  return {
    time,
    store,
    async start(options) {
      const { clock } = new SimProcess(time);
      const dispatcher = createDispatcher({ store, clock, random: seeded(seed), ...options });
      await dispatcher.start();
      return dispatcher;
    },
    until: (condition, withinMs = 48 * HOUR) => until(time, condition, withinMs),
  };
}

async function until(time: VirtualClock, condition: () => Promise<boolean>, withinMs: number): Promise<void> {
  const end = time.now() + withinMs;
  while (!(await condition())) {
    if (time.now() >= end) throw new Error(`It did not come about within ${withinMs / HOUR} virtual hours.`);
    await time.advance(30_000);
  }
}

/** True when nothing waits and nothing runs. */
export async function isAtRest(store: Store, now: number): Promise<boolean> {
  const probe = await store.probe(1, now);
  return probe.inBatches === 0 && probe.lanes.length === 0 && probe.deliveriesWaiting === 0;
}
