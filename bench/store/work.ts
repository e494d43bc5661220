/** What the store measures are made of: requests of 2 KB, databases in a folder of their own, and a watch. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { DispatchRequest, NewRequest, SealInput, Settlement, Store } from "batchwise/dispatch";

const BODY_BYTES = 2_048;
export const BATCH = 50_000;
export const CHUNK = 1_000;
export const NOW = 1_700_000_000_000;
export const LANE = "/v1/chat/completions  gpt-4o-mini";

const DIGEST_LENGTH = 27;
const frame = { model: "gpt-4o-mini", messages: [{ role: "user", content: "" }] };
const content = "word ".repeat(Math.floor((BODY_BYTES - JSON.stringify(frame).length) / 5));
const body = JSON.stringify({ ...frame, messages: [{ role: "user", content }] });
/** A completion of about 500 bytes. */
export const payload: string = JSON.stringify({ response: { statusCode: 200, body: { text: "y".repeat(440) } } });

/** Requests as the dispatcher passes them on, under random ids: the hardest case for the index of ids. */
export function requests(count: number): NewRequest[] {
  return Array.from({ length: count }, () => ({
    ...{ id: randomUUID(), digest: "d".repeat(DIGEST_LENGTH), lane: LANE, priority: 0, tenant: "", deadlineAt: null },
    ...{ bytes: BODY_BYTES + 120, tokens: 500, metadata: null, body },
  }));
}

/** The same as a user enqueues them. */
export function dispatchRequests(count: number): DispatchRequest[] {
  return Array.from({ length: count }, () => dispatchRequest(randomUUID()));
}

export function dispatchRequest(id: string): DispatchRequest {
  return { id, body: { ...frame, messages: [{ role: "user", content }] } };
}

export function sealInput(key: string): SealInput {
  return {
    ...{ key, lane: LANE, account: "openai", ledger: "openai", owner: "bench", leaseUntil: NOW + 90_000, now: NOW },
    limits: { tokens: Number.POSITIVE_INFINITY, requests: Number.POSITIVE_INFINITY, batches: Number.POSITIVE_INFINITY },
    ...{ maxRequests: BATCH, maxBytes: 200_000_000, maxTokens: Number.POSITIVE_INFINITY },
    ...{ minRequests: 1, avoidCounts: [] },
  };
}

/** Ends all members of a batch, in chunks and in an order that is not theirs. */
export async function settleAll(store: Store, key: string, count: number): Promise<void> {
  const chunks = Math.ceil(count / CHUNK);
  for (let chunk = 0; chunk < chunks; chunk += 1) {
    const items: Settlement[] = [];
    for (let ord = chunk; ord < count; ord += chunks) {
      items.push({ ord, kind: "final", status: "succeeded", payload, charged: true });
    }
    await store.settle({ key, fence: 1, items, sinks: [], cancelledPayload: "{}", now: NOW });
  }
}

export async function enqueueAll(store: Store, count: number): Promise<void> {
  for (let done = 0; done < count; done += CHUNK) await store.enqueue(requests(Math.min(CHUNK, count - done)), NOW);
}

/** A database with the store's own settings and one table: what SQLite itself can do here. */
export function rawDatabase(path: string, table: string): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec(`
    PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = 2000; PRAGMA cache_size = -4000; ${table}`);
  return database;
}

/** Runs `work` with a file name in a folder that is removed afterwards. */
export async function inFolder<Result>(work: (file: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(process.env.BATCHWISE_BENCH_FOLDER ?? tmpdir(), "batchwise-bench-"));
  try {
    return await work(join(folder, "store.db"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export async function seconds(work: () => Promise<void> | void): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1_000;
}
