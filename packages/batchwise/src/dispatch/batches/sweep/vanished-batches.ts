// Looks hourly for batches that are quarantined because their provider did not know them: lists and
// proxies have erred for longer than the ten minutes after which a batch is quarantined. A batch
// that is found continues where it stopped.

import type { Account } from "../../contract/account.ts";
import type { BatchRow } from "../../contract/store/rows.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import { underLeases } from "../../runtime/lease/leases-by-key.ts";
import { failureOf, readFor } from "../../runtime/provider-calls.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { everyBatch } from "../../runtime/store/pages.ts";
import { BEGUN_ANEW } from "../plan.ts";

const EVERY_MS = 3_600_000;
/** Looked for in one turn; others that are due wait for the next. */
const MOST = 100;

/** Looks for each batch of the account that is due. */
export async function findVanished(runtime: Runtime, account: Account): Promise<void> {
  const quarantined = await everyBatch(runtime.store, account.name, "quarantined");
  const now = runtime.clock.now();
  const due = quarantined
    .filter((batch) => batch.nextAt <= now && hasVanished(batch))
    .sort((a, b) => a.nextAt - b.nextAt);
  for (const { key } of due.slice(0, MOST)) {
    if (runtime.isStopping) return;
    await look(runtime, account, key);
  }
}

function hasVanished({ providerBatchId, lostLooks }: BatchRow): boolean {
  return providerBatchId !== null && lostLooks > 0;
}

async function look(runtime: Runtime, account: Account, key: string): Promise<void> {
  const work = async (lease: Lease): Promise<void> => {
    const { batch } = lease;
    const isQuarantined = batch.state === "quarantined";
    const isThere = isQuarantined && hasVanished(batch) && (await isKnown(runtime, lease));
    if (isThere) await lease.end((at) => ({ ...BEGUN_ANEW, state: "submitted", nextAt: at }));
    else await lease.end(isQuarantined ? (at) => ({ nextAt: at + EVERY_MS }) : {});
  };
  await underLeases(runtime, [key], work, [account.name]);
}

async function isKnown(runtime: Runtime, lease: Lease): Promise<boolean> {
  try {
    const id = lease.batch.providerBatchId as string;
    return (await readFor(runtime, lease, (call) => lease.account.retrieve(id, call))) !== null;
  } catch (error) {
    if (lease.isOver) throw error;
    const failure = failureOf(lease.account, error, "retrieve");
    if (!runtime.isStopping) runtime.troubles.add({ error, failure, context: lease.context("retrieve") });
    return false;
  }
}
