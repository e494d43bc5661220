// Every ten minutes: replaces times that a wrong clock set too far ahead by now, and retries failed
// cancels. At the times of sweep-turns.ts, cancels and records provider batches that carry our tag
// but are not the ones that the store knows: their creates were accepted after we gave up, or sent
// by a process that slept. Deletes uploads that no batch uses. Never touches provider batches
// without a tag of this store.

import { type Account, type CallOptions, hasEnded, type ProviderBatch } from "../../contract/account.ts";
import type { BatchRow } from "../../contract/store/rows.ts";
import { batchName } from "../../format/encode.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import { underLeases } from "../../runtime/lease/leases-by-key.ts";
import { bounded, failureOf } from "../../runtime/provider-calls.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { latestDueAt } from "../../runtime/wall-clock.ts";
import { isTagged } from "../find/adoption.ts";
import { findOrList, pages } from "../find/list-batches.ts";
import { cancelExtra } from "../find/reconcile.ts";
import { CLOCK_SKEW_MS, UNRESOLVED } from "../life-cycle.ts";
import { parseFileName } from "../submit/batch-input.ts";
import { cancelLate } from "./late-cancels.ts";
import { SweepPlace } from "./sweep-place.ts";
import { SWEEP_EVERY_MS } from "./sweep-schedule.ts";
import { inTurn, type Swept } from "./sweep-turns.ts";
import { findVanished } from "./vanished-batches.ts";

const BACK_MS = 24 * 3_600_000;
const KEYS_AT_ONCE = 500;
const ROWS_OF_AN_ACCOUNT = 2_000;
/** More batches than these are looked for in the list, which shows many in one call. */
const FOUND_ONE_BY_ONE = 10;
/** A run's share for the list of files: the rest is for deleting them. */
const LIST_SHARE = 1 / 2;
/** Page size of file lists. */
const FILES_A_CALL = 1_000;

/** The loop's turn. An account that does not answer is swept next time. */
export function sweeper(runtime: Runtime): () => Promise<number> {
  return async () => {
    await hasten(runtime).catch((error: unknown) => runtime.report(error, { operation: "store" }));
    await cancelLate(runtime).catch((error: unknown) => runtime.reportShared(error, { operation: "cancel" }));
    let nextAt = runtime.clock.now() + SWEEP_EVERY_MS;
    for (const account of runtime.accounts) {
      if (runtime.isStopping) break;
      const context = { account: account.name, operation: "list" } as const;
      const sweptAgainAt = sweepOf(runtime, account)
        .catch((error: unknown) => {
          if (runtime.isStopping) return Number.POSITIVE_INFINITY;
          runtime.troubles.add({ error, failure: failureOf(account, error, "list"), context });
          return Number.POSITIVE_INFINITY;
        })
        // An account whose `classify` throws does not stop the sweep of the others.
        .catch((error: unknown) => {
          runtime.report(error, context);
          return Number.POSITIVE_INFINITY;
        });
      nextAt = Math.min(nextAt, await sweptAgainAt);
    }
    return nextAt;
  };
}

/** Gives the time of the next look at this account. */
async function sweepOf(runtime: Runtime, account: Account): Promise<number> {
  await findVanished(runtime, account);
  return inTurn(runtime, account, (swept) => sweep(runtime, account, swept));
}

async function sweep(runtime: Runtime, account: Account, swept: Swept): Promise<void> {
  const place = await SweepPlace.read(runtime, account.name);
  try {
    if (!place.isAtFiles) await sweepBatches(runtime, account, swept, place);
    place.reach("files", null);
    await sweepFiles(runtime, account, swept);
    place.forget();
  } catch (error) {
    if (!runtime.isStopping) place.forget();
    throw error;
  } finally {
    await place.keep();
    const { lists, others, duplicates, filesDeleted } = swept;
    const told = { account: account.name, calls: lists + others, duplicates, filesDeleted };
    runtime.events.emit("sweep", () => told);
  }
}

/** Replaces times that are too far ahead by now. The loops see them at their next look. */
async function hasten({ store, clock, options }: Runtime): Promise<void> {
  const now = clock.now();
  const after = latestDueAt(now, options.retry.maxBackoffMs);
  await store.amend({ kind: "hasten", after }, [], now);
}

/**
 * True when the provider's batch is not the one that the row names, and no process is still looking
 * for it. Pure.
 */
export function isDuplicate(batch: BatchRow, seen: ProviderBatch): boolean {
  if (!isTagged(batch, seen) || UNRESOLVED.includes(batch.state)) return false;
  return seen.id !== batch.providerBatchId && !batch.orphans.some((orphan) => orphan.providerBatchId === seen.id);
}

async function sweepBatches(runtime: Runtime, account: Account, swept: Swept, place: SweepPlace): Promise<void> {
  const { tag } = account.capabilities;
  if (tag !== "metadata" && tag !== "inputFile") return;
  const since = runtime.clock.now() - BACK_MS - CLOCK_SKEW_MS;
  // Looked for before the rows are read: a batch that its row does not know yet is then still
  // unresolved.
  for await (const listed of recent(runtime, account, since, swept, place)) {
    const rows = tag === "metadata" ? await rowsByKey(runtime, listed) : await rowsByFile(runtime, account);
    for (const seen of listed) {
      const name = tag === "metadata" ? seen.tag?.key : seen.inputFileId;
      const row = name === undefined || name === null ? undefined : rows.get(name);
      if (row !== undefined && isDuplicate(row, seen)) await stop(runtime, account, row.key, seen, swept);
    }
  }
}

/**
 * The provider's batches since then, from the saved place on: found one by one by tag if that takes
 * few calls, else page by page of the list.
 */
async function* recent(
  runtime: Runtime,
  account: Account,
  since: number,
  swept: Swept,
  place: SweepPlace,
): AsyncGenerator<readonly ProviderBatch[]> {
  const cuts = [runtime.stopping.signal];
  const onCall = (): void => {
    swept.lists += 1;
  };
  const few = await fewSent(runtime, account, since);
  if (few === null) {
    for await (const page of pages(runtime, account, since, cuts, { onCall, from: place.after("listed") })) {
      yield page.batches;
      if (page.next !== null) place.reach("listed", page.next);
    }
    return;
  }
  const done = place.after("found") ?? "";
  for (const row of few.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
    if (row.key <= done) continue;
    onCall();
    yield await findOrList(runtime, account, batchName(row), since, cuts);
    place.reach("found", row.key);
  }
}

/**
 * The batches sent since then; null if the provider cannot find one batch, or if there are many.
 */
async function fewSent({ store }: Runtime, account: Account, since: number): Promise<readonly BatchRow[] | null> {
  if (account.find === undefined) return null;
  const newest = await store.batches({ account: account.name, limit: ROWS_OF_AN_ACCOUNT });
  const sent = newest.filter(({ submitStartedAt }) => (submitStartedAt ?? 0) >= since);
  return sent.length > FOUND_ONE_BY_ONE ? null : sent;
}

async function rowsByKey(runtime: Runtime, listed: readonly ProviderBatch[]): Promise<Map<string, BatchRow>> {
  const keys = [...new Set(listed.flatMap(({ tag }) => (tag === null ? [] : [tag.key])))];
  const rows = new Map<string, BatchRow>();
  for (let from = 0; from < keys.length; from += KEYS_AT_ONCE) {
    const some = keys.slice(from, from + KEYS_AT_ONCE);
    for (const row of await runtime.store.batches({ keys: some, limit: some.length })) rows.set(row.key, row);
  }
  return rows;
}

async function rowsByFile(runtime: Runtime, account: Account): Promise<Map<string, BatchRow>> {
  const rows = await runtime.store.batches({ account: account.name, limit: ROWS_OF_AN_ACCOUNT });
  return new Map(
    rows.flatMap((row) => {
      const fileId = row.providerFileId;
      return fileId === null ? [] : [[fileId, row]];
    }),
  );
}

/** Cancels duplicates under the batch's lease, if its row, read again, still shows them as such. */
async function stop(runtime: Runtime, account: Account, key: string, seen: ProviderBatch, swept: Swept): Promise<void> {
  const work = async (lease: Lease): Promise<void> => {
    if (isDuplicate(lease.batch, seen)) {
      swept.duplicates += Number(await cancelExtra(runtime, lease, seen));
      if (!hasEnded(seen)) swept.others += 1;
    }
    await lease.end({});
  };
  await underLeases(runtime, [key], work, [account.name]);
}

interface OwnFile {
  readonly fileId: string;
  readonly key: string;
  readonly attempt: number;
}

/**
 * Deletes uploads of batches of this store that have ended, or that an earlier attempt left behind.
 */
async function sweepFiles(runtime: Runtime, account: Account, swept: Swept): Promise<void> {
  const { listFiles, deleteFile } = account;
  if (!account.capabilities.listsFiles || listFiles === undefined || deleteFile === undefined) return;
  const cuts = [runtime.stopping.signal];
  const ours: OwnFile[] = [];
  const read = async (call: CallOptions): Promise<void> => {
    swept.lists += 1;
    let seen = 0;
    for await (const { fileId, fileName } of listFiles.call(account, call)) {
      seen += 1;
      if (seen % FILES_A_CALL === 0) swept.lists += 1;
      const name = parseFileName(fileName);
      if (name !== null) ours.push({ fileId, ...name });
    }
  };
  const limitMs = runtime.timeFor(account.requestTimeoutMs);
  const listMs = runtime.budget === null ? limitMs : Math.min(limitMs, runtime.budget.leftMs * LIST_SHARE);
  // Files listed before a failure are still deleted, so that the next sweep need not list them
  // again.
  const failure = await bounded(runtime, listMs, cuts, read).then(
    () => null,
    (error: unknown) => ({ error }),
  );
  if (failure !== null && (runtime.isStopping || ours.length === 0)) throw failure.error;
  for (let from = 0; from < ours.length; from += KEYS_AT_ONCE) {
    const some = ours.slice(from, from + KEYS_AT_ONCE);
    const keys = [...new Set(some.map(({ key }) => key))];
    const rows = new Map((await runtime.store.batches({ keys, limit: keys.length })).map((row) => [row.key, row]));
    for (const file of some) {
      const row = rows.get(file.key);
      if (row === undefined || isNeeded(row, file)) continue;
      await bounded(runtime, runtime.timeFor(account.requestTimeoutMs), cuts, (call) =>
        deleteFile.call(account, file.fileId, call),
      );
      swept.others += 1;
      swept.filesDeleted += 1;
    }
  }
  // A run that cut off its own list is no trouble of the account.
  if (failure !== null && runtime.budget === null) throw failure.error;
}

/** True while a create may still name the file, or an upload of it be under way. Pure. */
export function isNeeded(batch: BatchRow, file: { readonly fileId: string; readonly attempt: number }): boolean {
  if (batch.state === "done") return false;
  return batch.providerFileId === file.fileId || file.attempt >= batch.submitAttempt;
}
