// Decides which process sweeps an account, and when. The times are in a mark of the store, so that
// all processes together sweep it as often as one would, and a restart repeats no recent sweep.

import type { Account } from "../../contract/account.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { LIVE } from "../life-cycle.ts";
import { type LastSweep, nextSweepAt, parseSweep, sweepText, USED_FOR_MS } from "./sweep-schedule.ts";

/** Number of newest batches checked for a create in the last hour. */
const NEWEST = 100;
/** Estimated calls before a sweep has counted: one list of batches and one of files. */
const FIRST_CALLS = 2;

/** Work of a sweep so far. */
export interface Swept {
  /** Calls that every sweep makes, and additional ones. */
  lists: number;
  others: number;
  duplicates: number;
  filesDeleted: number;
}

/**
 * Sweeps if it is due and no other process does. Returns the time of the next check of this
 * account.
 */
export async function inTurn(
  runtime: Runtime,
  account: Account,
  sweep: (swept: Swept) => Promise<void>,
): Promise<number> {
  const { clock, options } = runtime;
  if (!isSwept(account)) return Number.POSITIVE_INFINITY;
  const name = `sweep ${account.name}`;
  const present = await runtime.readMark(name);
  const last = parseSweep(present);
  const dueAt = await nextAt(runtime, account, last);
  if (dueAt > clock.now()) return dueAt;
  const at = clock.now();
  const taken = sweepText({ at, calls: last?.calls ?? FIRST_CALLS }, options.owner);
  if (!(await runtime.setMark(name, present, taken))) return Number.POSITIVE_INFINITY;
  const swept = { lists: 0, others: 0, duplicates: 0, filesDeleted: 0 };
  try {
    await sweep(swept);
  } finally {
    // The next process repeats a sweep that the stop has interrupted.
    const made = runtime.isStopping ? present : sweepText({ at, calls: swept.lists }, options.owner);
    await runtime.setMark(name, taken, made);
  }
  return Number.POSITIVE_INFINITY;
}

function isSwept({ capabilities: { tag, listsFiles } }: Account): boolean {
  return tag === "metadata" || tag === "inputFile" || listsFiles;
}

async function nextAt(runtime: Runtime, account: Account, last: LastSweep | null): Promise<number> {
  const now = runtime.clock.now();
  // Reads batches only if they affect the result.
  const soonest = nextSweepAt(last, false, now);
  return soonest > now ? soonest : nextSweepAt(last, await isIdle(runtime, account, now), now);
}

/**
 * True if no batch is under way and none was sent in the last hour, by this process or as far as
 * the store shows.
 */
async function isIdle({ store, sentAt }: Runtime, { name: account }: Account, now: number): Promise<boolean> {
  const since = now - USED_FOR_MS;
  if ((sentAt.get(account) ?? 0) > since) return false;
  const [open] = await store.batches({ account, states: LIVE, limit: 1 });
  if (open !== undefined) return false;
  const newest = await store.batches({ account, limit: NEWEST });
  return newest.every(({ submitStartedAt }) => (submitStartedAt ?? 0) <= since);
}
