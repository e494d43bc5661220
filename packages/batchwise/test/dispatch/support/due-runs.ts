// Jobs that nothing but `runDue` drives, on the virtual clock.

import type { Store } from "../../../src/dispatch/contract/store/store.ts";
import type { VirtualClock } from "../../../src/testing/index.ts";

/** Lets time pass until the run has ended, and says how long it took. */
export async function ended<Value>(time: VirtualClock, run: Promise<Value>): Promise<{ value: Value; tookMs: number }> {
  const begunAt = time.now();
  let isOver = false;
  run
    .catch(() => {})
    .finally(() => {
      isOver = true;
    });
  for (let steps = 0; steps < 10_000; steps += 1) {
    await time.settle();
    if (isOver) return { value: await run, tookMs: time.now() - begunAt };
    await time.advance(Math.max(1, Math.min(time.nextAt - time.now(), 1_000)));
  }
  throw new Error("The run has not ended.");
}

/** The same store, with work before each of its calls. */
export function before(store: Store, work: (name: string, input: unknown) => Promise<void>): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return async (...input: unknown[]) => {
        await work(String(name), input[0]);
        return value.apply(target, input);
      };
    },
  });
}

/** Batches with a lease. */
export async function leases(store: Store, now: number): Promise<number> {
  const batches = await store.batches({ limit: 10_000 });
  return batches.filter(({ leaseUntil }) => leaseUntil > now).length;
}
