// Retries the cancel of abandoned provider batches whose cancel failed. A mark in the store names
// each; the sweeping process retries every ten minutes for a day, then reports to `onError`. Skips
// a batch that has become a batch of record again.

import { DispatchError } from "../../contract/errors.ts";
import type { MarkRow } from "../../contract/store/ledger-rows.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import { underLeases } from "../../runtime/lease/leases-by-key.ts";
import { callFor } from "../../runtime/provider-calls.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { SWEEP_EVERY_MS } from "./sweep-schedule.ts";

const PREFIX = "uncancelled ";
/** A day of tries: providers end a batch in that time. */
const TRIES = 144;

/** The value of a mark: the number of tries so far, and when the last began. */
interface Note {
  readonly account: string;
  readonly batch: string;
  readonly providerBatchId: string;
  readonly tries: number;
  readonly at: number;
  /** Distinguishes two processes that write in the same millisecond. */
  readonly owner: string;
}

/** Schedules a retry of the cancel after the lease's batch has been abandoned. */
export async function noteUncancelled(runtime: Runtime, { batch }: Lease, providerBatchId: string): Promise<void> {
  const { clock, options } = runtime;
  const now = clock.now();
  const { key, account } = batch;
  const note: Note = { account, batch: key, providerBatchId, tries: 0, at: now, owner: options.owner };
  await runtime.setMark(`${PREFIX}${key} ${providerBatchId}`, null, JSON.stringify(note));
}

/** Retries every cancel that is due. */
export async function cancelLate(runtime: Runtime): Promise<void> {
  for (const mark of await runtime.changeMarks([])) {
    if (runtime.isStopping) return;
    if (mark.name.startsWith(PREFIX)) await tryAgain(runtime, mark);
  }
}

async function tryAgain(runtime: Runtime, mark: MarkRow): Promise<void> {
  const { store, clock, options } = runtime;
  const note = JSON.parse(mark.value) as Note;
  const account = options.accounts.get(note.account);
  const now = clock.now();
  // Half the interval, so that a turn that comes early is not lost.
  if (account === undefined || Math.abs(now - note.at) < SWEEP_EVERY_MS / 2) return;
  const work = async (lease: Lease): Promise<void> => {
    const isOfRecord = lease.batch.providerBatchId === note.providerBatchId;
    if (isOfRecord) await runtime.setMark(mark.name, mark.value, null);
    else await cancel(runtime, lease, mark, { ...note, tries: note.tries + 1, at: now, owner: options.owner });
    await lease.end({});
  };
  if ((await underLeases(runtime, [note.batch], work, [account.name])).length > 0) return;
  const known = await store.batches({ keys: [note.batch], limit: 1 });
  if (known.length === 0) await runtime.setMark(mark.name, mark.value, null);
}

async function cancel(runtime: Runtime, lease: Lease, mark: MarkRow, note: Note): Promise<void> {
  const { providerBatchId, tries } = note;
  try {
    await callFor(runtime, lease, (call) => lease.account.cancel(providerBatchId, call));
  } catch (error) {
    if (lease.isOver) throw error;
    await runtime.setMark(mark.name, mark.value, tries < TRIES ? JSON.stringify(note) : null);
    if (tries >= TRIES) runtime.report(givenUp(note, error), lease.context("cancel"));
    return;
  }
  await lease.write((now) => ({ orphans: [{ providerBatchId, seenAt: now, action: "cancelled" }] }));
  await runtime.setMark(mark.name, mark.value, null);
}

function givenUp({ batch, account, providerBatchId, tries }: Note, cause: unknown): DispatchError {
  const what = `${providerBatchId} at ${account}, of batch ${batch} that was let go, could not be cancelled in ${tries} tries`;
  return new DispatchError("BATCH_STUCK", `${what}: it may have run, and may be billed. Look at it there.`, cause);
}
