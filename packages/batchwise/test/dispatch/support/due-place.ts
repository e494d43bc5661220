// A place without a process that stays: a store and a provider on the virtual clock, and processes
// that live for some runs.

import { expect } from "vitest";
import type { Account } from "../../../src/dispatch/contract/account.ts";
import type { Dispatcher } from "../../../src/dispatch/contract/dispatcher.ts";
import type { DispatcherOptions } from "../../../src/dispatch/contract/dispatcher-options.ts";
import type { DispatchRequest } from "../../../src/dispatch/contract/types.ts";
import { createDispatcher } from "../../../src/dispatch/dispatcher.ts";
import { memoryStore } from "../../../src/dispatch/stores/memory/memory-store.ts";
import { virtualClock } from "../../../src/testing/index.ts";
import { ended, leases } from "./due-runs.ts";
import { type SimOptions, SimProvider } from "./simulation/sim-provider.ts";
import { ask, SimProcess, START, seeded } from "./world.ts";

export const SECOND = 1_000;
export const MINUTE = 60_000;

export interface Given extends Partial<DispatcherOptions> {
  readonly sim?: Partial<SimOptions>;
  readonly account?: (provider: SimProvider, sleep: (ms: number) => Promise<void>) => Account;
}

/** A place for processes whose batches close at once. */
export function place({ sim, account = (provider) => provider.account(), ...options }: Given = {}) {
  const time = virtualClock(START);
  const provider = new SimProvider({ time, ...sim });
  const { store = memoryStore() } = options;
  const sleep = (ms: number) => new Promise<void>((resolve) => void time.setTimeout(resolve, ms));
  const errors: unknown[] = [];
  let seed = 0;
  const process = (more: Partial<DispatcherOptions> = {}) => {
    const machine = new SimProcess(time);
    seed += 1;
    const dispatcher = createDispatcher({
      store: machine.wrap(store),
      accounts: [machine.wrap(account(provider, sleep))],
      clock: machine.clock,
      random: seeded(seed),
      thresholds: { maxAgeMs: 0 },
      onError: (error) => errors.push(error),
      ...options,
      ...more,
    });
    return { machine, dispatcher };
  };
  return { time, provider, store, errors, sleep, process };
}

export type Place = ReturnType<typeof place>;

/** Runs, each when the one before has said, until nothing is due. */
export async function finish({ time, store }: Place, dispatcher: Dispatcher, maxMs = 20 * SECOND) {
  for (let runs = 1; runs < 500; runs += 1) {
    const before = await leases(store, time.now());
    const { value, tookMs } = await ended(time, dispatcher.runDue({ maxMs }));
    expect(tookMs).toBeLessThanOrEqual(maxMs);
    // Those of a process that was killed end by themselves.
    expect(await leases(store, time.now())).toBeLessThanOrEqual(before);
    if (value.nextAt === null) return { ...value, runs };
    await time.advance(Math.max(0, value.nextAt - time.now()));
  }
  throw new Error("The job has not ended.");
}

export const names = (count: number): DispatchRequest[] =>
  Array.from({ length: count }, (_, index) => ask(`r${index}`));

export function expectEachOnce({ provider }: Place, count: number): void {
  const runs = provider.successes();
  expect(runs.size).toBe(count);
  expect(Math.max(...runs.values())).toBe(1);
}
