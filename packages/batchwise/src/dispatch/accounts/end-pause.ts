// Ends the pause of an account whose key was refused, once the account is known to work again:
// after a person has mended the key and called again, nothing has to wait for the rest of the
// quarter of an hour. A write under any lease carries the end to the store, now or, if all batches
// are leased by others, with the next one here; until then only this process looks past the pause.
// Then the batches that wait for it are made due. A key that is refused again costs one call and
// pauses the account again.

import type { Account } from "../contract/account.ts";
import type { LedgerRow } from "../contract/store/ledger-rows.ts";
import { makeDue, underLeases } from "../runtime/lease/leases-by-key.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { everyBatch } from "../runtime/store/pages.ts";
import { isClosedByAnswer } from "./outage.ts";

/** So many batches are tried until one carries the end: others may be leased. */
const MOST_CARRIERS = 10;
/** In ms: batches that were refused within so long of each other wait for the same pause. */
const SAME_PAUSE_MS = 60_000;

/** Batches of an account that are made due at once; the others follow when they fall due. */
const MOST = 100;

export async function endPause(runtime: Runtime, account: Account): Promise<void> {
  const now = runtime.clock.now();
  const ledgers = await runtime.ledgers();
  const ledger = ledgers.get(account.name);
  if (ledger === undefined || !isClosedByAnswer(ledger, now)) return;
  runtime.troubles.disprove(account.name, ledger.blockedUntil);
  // Batches that wait at another closed account may move to this one.
  const closed = [...ledgers.values()].filter(
    (one) => runtime.options.accounts.has(one.name) && isClosedByAnswer(one, now),
  );
  const held = (await Promise.all(closed.map((one) => waitingAt(runtime, one, now)))).flat();
  await writeEnd(runtime, account, held);
  await makeDue(runtime, held, ["sealed"]);
  runtime.sealing.wake();
}

/**
 * Ledgers can only be written with a batch's row, which stays as it is. Tries the newest batches of
 * the account (one of them wrote the pause), then the held ones.
 */
async function writeEnd(runtime: Runtime, { name }: Account, held: readonly string[]): Promise<void> {
  const newest = await runtime.store.batches({ account: name, limit: MOST_CARRIERS });
  const keys = new Set([...newest.map(({ key }) => key), ...held]);
  for (const key of [...keys].slice(0, MOST_CARRIERS)) {
    const written = await underLeases(runtime, [key], async (lease) => {
      const { failedSteps, lastError } = lease.batch;
      await lease.end({ failedSteps, lastError });
    });
    if (written.length > 0) return;
  }
}

/** The keys of some batches that are sealed at the account and wait for the end of its pause. */
async function waitingAt({ store }: Runtime, ledger: LedgerRow, now: number): Promise<string[]> {
  const sealed = await everyBatch(store, ledger.name, "sealed");
  return sealed
    .filter(({ nextAt }) => nextAt > now && nextAt <= ledger.blockedUntil + SAME_PAUSE_MS)
    .slice(0, MOST)
    .map(({ key }) => key);
}
