// The type of a store case, and the rows that the cases share. Needs no test runner: a case throws
// if the store breaks the contract.

import { deepEqual, ok } from "node:assert/strict";
import type { Amendment, SealInput, SealResult, SettleInput } from "../../../dispatch/contract/store/calls.ts";
import type { Settlement } from "../../../dispatch/contract/store/outcome-rows.ts";
import type { BatchRow, NewRequest } from "../../../dispatch/contract/store/rows.ts";
import type { Store } from "../../../dispatch/contract/store/store.ts";
import type { OutcomeStatus } from "../../../dispatch/contract/types.ts";

/**
 * Opens a store on the case's data, empty at the first call. Each further call opens another store
 * on the same data, as another process would; a store that cannot share data returns the same one
 * again. The factory's author closes the stores.
 */
export type StoreFactory = () => Promise<Store>;

/** One case of the suite that every store must pass. */
export interface StoreCase {
  /** A sentence that says what a store does. */
  readonly name: string;
  /**
   * The case closes its store and opens it again. Skip it for a store that does not outlive its
   * process.
   */
  readonly durable: boolean;
  run(open: StoreFactory): Promise<void>;
}

export const NOW = 1_700_000_000_000;
export const LANE = "/v1/chat/completions  gpt-4o-mini";
export const OTHER_LANE = "/v1/embeddings  text-embedding-3-small";
export const OK = '{"response":null,"error":null,"usage":null}';
const LEASE = 90_000;
const CANCELLED = { cancelledPayload: '{"cancelled":true}', cancelledCode: "cancelled" };

export function storeCase(name: string, body: (store: Store, open: StoreFactory) => Promise<void>): StoreCase {
  return { name, durable: false, run: async (open) => body(await open(), open) };
}

export function request(id: string, changes: Partial<NewRequest> = {}): NewRequest {
  const fields = { id, digest: `digest of ${id}`, lane: LANE, priority: 0, tenant: "", job: "", deadlineAt: null };
  return { ...fields, bytes: 100, tokens: 10, metadata: null, body: `{"input":"${id}"}`, ...changes };
}

/** `prefix0`, `prefix1`, ... */
export function many(count: number, changes: Partial<NewRequest> = {}, prefix = "r"): NewRequest[] {
  return Array.from({ length: count }, (_, n) => request(`${prefix}${n}`, changes));
}

/** A batch key like the dispatcher's: 26 characters that sort by `n`. */
export function keyOf(n: number): string {
  return `01K${String(n).padStart(23, "0")}`;
}

export function sealInput(n: number, changes: Partial<SealInput> = {}): SealInput {
  return {
    ...{ key: keyOf(n), lane: LANE, account: "openai", ledger: "openai/gpt-4o-mini" },
    limits: { tokens: Infinity, requests: Infinity, batches: Infinity },
    ...{ maxRequests: 50_000, maxBytes: 200_000_000, maxTokens: Infinity, minRequests: 1, avoidCounts: [] },
    ...{ owner: "one", leaseUntil: NOW + LEASE, now: NOW },
    ...changes,
  };
}

export function batchOf(result: SealResult): BatchRow {
  ok(result.ok, `the seal was refused: ${result.ok ? "" : result.reason}`);
  return result.batch;
}

/** Enqueues `count` requests and seals them as batch `n`. */
export async function sealed(
  store: Store,
  n: number,
  count: number,
  changes: Partial<SealInput> = {},
): Promise<BatchRow> {
  await store.enqueue(many(count, {}, `b${n}-`), NOW);
  return batchOf(await store.seal(sealInput(n, { maxRequests: count, ...changes })));
}

export function final(ord: number, status: OutcomeStatus = "succeeded", charged = true): Settlement {
  return { ord, kind: "final", status, payload: OK, code: null, usage: null, charged };
}

/** A final settlement with these changes. */
export function ended(ord: number, changes: Partial<Extract<Settlement, { kind: "final" }>>): Settlement {
  return { ord, kind: "final", status: "failed", payload: OK, code: null, usage: null, charged: true, ...changes };
}

export function requeue(ord: number, changes: Partial<Extract<Settlement, { kind: "requeue" }>> = {}): Settlement {
  return { ord, kind: "requeue", code: "server_error", charged: true, notBefore: NOW, lane: LANE, ...changes };
}

/** An amendment that retries these requests, each in `LANE`. */
export function retryOf(...ids: string[]): Amendment {
  return { kind: "retry", ids, lanes: ids.map(() => LANE) };
}

export function settleInput(
  batch: BatchRow,
  items: readonly Settlement[],
  changes: Partial<SettleInput> = {},
): SettleInput {
  const { key, fence } = batch;
  return { key, fence, items, sinks: [], ...CANCELLED, now: NOW, ...changes };
}

/** The ids of a batch's open members, by `ord`. */
export async function memberIds(store: Store, batchKey: string): Promise<string[]> {
  const rows = await store.requests({ batchKey, fromOrd: 0, limit: 1_000_000 });
  return rows.map(({ id }) => id);
}

/** Seals with these changes and returns the ids of the members in order. */
export async function claimed(store: Store, n: number, changes: Partial<SealInput> = {}): Promise<string[]> {
  const result = await store.seal(sealInput(n, changes));
  return result.ok ? memberIds(store, result.batch.key) : [];
}

/** Asserts that sealing is refused for this reason and writes nothing. */
export async function refused(store: Store, input: SealInput, reason: string): Promise<void> {
  const before = await store.probe(1_000_000, input.now);
  const result = await store.seal(input);
  deepEqual(result.ok ? "sealed" : result.reason, reason);
  deepEqual(await store.probe(1_000_000, input.now), before);
}

/** Asserts a rejection with a DispatchError of this code. */
export async function rejected(call: Promise<unknown>, code: string): Promise<void> {
  const error: unknown = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  ok(error instanceof Error, "the call was not rejected with an error");
  deepEqual((error as { code?: unknown }).code, code);
}
