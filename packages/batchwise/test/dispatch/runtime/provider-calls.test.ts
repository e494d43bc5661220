// Calls of an account that misbehave: nothing is left of them.

import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { resolveOptions } from "../../../src/dispatch/options/resolve-options.ts";
import { bounded } from "../../../src/dispatch/runtime/provider-calls.ts";
import { Runtime } from "../../../src/dispatch/runtime/runtime.ts";
import { memoryStore } from "../../../src/dispatch/stores/memory/memory-store.ts";
import { SimProvider } from "../support/simulation/sim-provider.ts";
import { world } from "../support/world.ts";

test.each<[string, () => Promise<never>]>([
  [
    "throws at once",
    () => {
      throw new Error("no");
    },
  ],
  ["rejects", () => Promise.reject(new Error("no"))],
])("a call that %s leaves no timer and no listener behind", async (_what, run) => {
  const { time } = world();
  const timers = new Set<unknown>();
  const clock = {
    now: () => time.now(),
    monotonic: () => time.now(),
    setTimeout: (callback: () => void, delayMs: number) => {
      const handle = time.setTimeout(callback, delayMs);
      timers.add(handle);
      return handle;
    },
    clearTimeout: (handle: unknown) => {
      timers.delete(handle);
      time.clearTimeout(handle);
    },
  };
  const accounts = [new SimProvider({ time }).account()];
  const runtime = new Runtime(resolveOptions({ store: memoryStore(), accounts, clock }));
  const { signal } = new AbortController();
  await expect(bounded(runtime, 1_000, [signal], run)).rejects.toThrow("no");
  await Promise.resolve();
  expect(timers.size).toBe(0);
  expect(getEventListeners(signal, "abort")).toEqual([]);
});
