// Leases batches by key, for operators and sweeps. Skips batches that another process holds.

import type { BatchRow } from "../../contract/store/rows.ts";
import type { BatchState } from "../../contract/types.ts";
import type { Runtime } from "../runtime.ts";
import { leaseInput } from "../store/store-time.ts";
import { Lease } from "./lease.ts";

/**
 * Runs `work` under the lease of each of these batches that is free, and ends the leases that it
 * leaves. Gives one result a batch. `accounts`: only batches of these; by default of all accounts.
 */
export async function underLeases<T>(
  runtime: Runtime,
  keys: readonly string[],
  work: (lease: Lease) => Promise<T>,
  accounts: readonly string[] = [...runtime.options.accounts.keys()],
): Promise<T[]> {
  if (keys.length === 0) return [];
  const { store, clock, options } = runtime;
  const begunAt = clock.monotonic();
  const rows = await store.lease(await leaseInput(runtime, { accounts, limit: keys.length, keys }));
  const run = async (row: BatchRow): Promise<T[]> => {
    const account = options.accounts.get(row.account);
    if (account === undefined) return [];
    const lease = new Lease(runtime, account, row, begunAt);
    try {
      return [await work(lease)];
    } finally {
      lease.close();
    }
  };
  return (await Promise.all(rows.map(run))).flat();
}

/** Makes due the batches in one of these states that no process works on. Returns their number. */
export async function makeDue(
  runtime: Runtime,
  keys: readonly string[],
  states: readonly BatchState[],
): Promise<number> {
  const taken = await underLeases(runtime, keys, (lease) =>
    lease.end((now) => (states.includes(lease.batch.state) ? { nextAt: now } : {})),
  );
  return taken.length;
}
