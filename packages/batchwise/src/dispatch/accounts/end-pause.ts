// Ends the pause of an account whose key was refused, once the account is known to work again:
// after a person has mended the key and called again, nothing has to wait for the rest of the
// quarter of an hour. A key that is refused again costs one call and pauses the account again.

import type { Account } from "../contract/account.ts";
import { underLeases } from "../runtime/lease/leases-by-key.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { everyBatch } from "../runtime/store/every-batch.ts";
import { isClosedByAnswer } from "./outage.ts";

/** Batches that are made due at once; the others follow when they fall due. */
const MOST = 100;

export async function endPause(runtime: Runtime, account: Account): Promise<void> {
  const { store, clock } = runtime;
  const now = clock.now();
  const ledger = await runtime.ledger(account.name);
  if (!isClosedByAnswer(ledger, now)) return;
  const held = await everyBatch(store, account.name, "sealed");
  const waiting = held.filter(({ nextAt }) => nextAt > now);
  const keys = waiting.slice(0, MOST).map(({ key }) => key);
  const free = { ledgers: [{ name: account.name, blockedUntil: 0, note: null }] };
  await underLeases(
    runtime,
    keys,
    (lease) => lease.end((at) => (lease.batch.state === "sealed" ? { ...free, nextAt: at } : {})),
    [account.name],
  );
}
