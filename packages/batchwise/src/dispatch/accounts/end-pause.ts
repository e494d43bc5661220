// Ends the pause of an account whose key was refused, once the account is known to work again:
// after a person has mended the key and called again, nothing has to wait for the rest of the
// quarter of an hour. A batch that is not sent yet carries the end to the store, now or when it
// passes the gate; until then only this process looks past the pause. A key that is refused again
// costs one call and pauses the account again.

import type { Account } from "../contract/account.ts";
import type { LedgerChanges } from "../contract/store/ledger-rows.ts";
import { underLeases } from "../runtime/lease/leases-by-key.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { everyBatch } from "../runtime/store/every-batch.ts";
import { isClosedByAnswer } from "./outage.ts";

/** Batches of an account that are made due at once; the others follow when they fall due. */
const MOST = 100;
export const PAUSE_ENDED: Pick<LedgerChanges, "blockedUntil" | "note"> = { blockedUntil: 0, note: null };

export async function endPause(runtime: Runtime, account: Account): Promise<void> {
  const now = runtime.clock.now();
  const ledgers = await runtime.ledgers();
  const ledger = ledgers.get(account.name);
  if (ledger === undefined || !isClosedByAnswer(ledger, now)) return;
  runtime.troubles.disprove(account.name, ledger.blockedUntil);
  // Batches that wait at another closed account may move to this one.
  const closed = runtime.accounts.map(({ name }) => name).filter((name) => isClosedByAnswer(ledgers.get(name), now));
  const held = (await Promise.all(closed.map((name) => waitingAt(runtime, name, now)))).flat();
  const free = { ledgers: [{ name: account.name, ...PAUSE_ENDED }] };
  const carried = await underLeases(runtime, held, async (lease) => {
    const isUnsent = lease.batch.state === "sealed";
    await lease.end((at) => (isUnsent ? { ...free, nextAt: at } : {}));
    return isUnsent;
  });
  if (carried.includes(true)) runtime.troubles.endWritten(account.name);
  runtime.sealing.wake();
}

/** The keys of some batches that are sealed at the account and not due yet. */
async function waitingAt({ store }: Runtime, account: string, now: number): Promise<string[]> {
  const sealed = await everyBatch(store, account, "sealed");
  return sealed
    .filter(({ nextAt }) => nextAt > now)
    .slice(0, MOST)
    .map(({ key }) => key);
}
