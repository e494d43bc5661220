// A database with work in every state, filled by a store's own calls: requests that wait in several
// lanes or are postponed, a batch that has ended, one at the provider, one not sent yet, outcomes,
// deliveries. The dumps in fixtures/ were made by this code with earlier stores, so it must not
// change.

import type { SealResult } from "../../../../src/dispatch/contract/store/calls.ts";
import type { DeliveryReport, Settlement } from "../../../../src/dispatch/contract/store/outcome-rows.ts";
import type { BatchChanges, NewRequest } from "../../../../src/dispatch/contract/store/rows.ts";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";

type More = Partial<Pick<NewRequest, "priority" | "deadlineAt" | "metadata">>;
type Line = readonly [id: string, tenant: string, tokens: number, more?: More];
type Decision = "succeeded" | "failed" | { readonly lane: string; readonly notBefore: number };

const sinks = ["hook", "log"];
const payload = (id: string): string => JSON.stringify({ response: { id }, error: null, usage: null });

/** `minute(0)` is when it begins; nothing is done after `minute(4)`. */
export const minute = (after: number): number => 1_700_000_000_000 + after * 60_000;

export function row([id, tenant, tokens, more]: Line, lane: string): NewRequest {
  const body = JSON.stringify({ model: "m", input: `It's ${id} 🙂` });
  return {
    ...{ id, digest: `digest of ${id}`, lane, priority: 0, tenant, job: "", deadlineAt: null },
    ...{ bytes: Buffer.byteLength(body) + 1, tokens, metadata: null, body, ...more },
  };
}

export async function fill(store: Store): Promise<void> {
  await fillDoneBatch(store);
  await fillRunningBatch(store);
  await put(store, minute(2), "embed", [
    ["sealed-1", "a", 5],
    ["sealed-2", "b", 5],
  ]);
  await seal(store, "unsent", "embed", minute(2));
  await fillWaiting(store);
  await fillDeliveries(store);
}

async function fillDoneBatch(store: Store): Promise<void> {
  await put(store, minute(0), "chat", [
    ["ok-1", "a", 100],
    ["ok-2", "a", 100],
    ["ok-3", "b", 50],
    ["bad-1", "b", 50],
    ["bad-2", "", 10],
    ["later-chat", "a", 70],
    ["later-high", "b", 30, { priority: 5 }],
    ["later-embed", "b", 40],
    ["later-alone", "a", 20],
  ]);
  await seal(store, "done", "chat", minute(0));
  const submitting: BatchChanges = { state: "submitting", submitAttempt: 1, submitStartedAt: minute(0) };
  await store.transition("done", 1, submitting, minute(0));
  const collecting: BatchChanges = { state: "collecting", providerFileId: "file-1", providerBatchId: "pb-1" };
  await store.transition("done", 1, collecting, minute(1));
  await settle(store, "done", minute(1), {
    ...{ "ok-1": "succeeded", "ok-2": "succeeded", "ok-3": "succeeded", "bad-1": "failed", "bad-2": "failed" },
    "later-chat": { lane: "chat", notBefore: minute(10) },
    "later-high": { lane: "chat", notBefore: minute(60) },
    "later-embed": { lane: "embed", notBefore: minute(10) },
    "later-alone": { lane: "alone", notBefore: minute(15) },
  });
  await store.transition("done", 1, { state: "done", releaseAt: minute(30) }, minute(1));
}

async function fillRunningBatch(store: Store): Promise<void> {
  await put(store, minute(1), "chat", [
    ["run-1", "a", 100],
    ["run-2", "a", 100, { deadlineAt: minute(240) }],
    ["run-3", "b", 50],
    ["run-4", "b", 50],
    ["past", "a", 60],
  ]);
  await seal(store, "running", "chat", minute(1));
  const submitting: BatchChanges = { state: "submitting", submitAttempt: 1, submitStartedAt: minute(1) };
  await store.transition("running", 1, submitting, minute(1));
  const running: BatchChanges = {
    state: "running",
    ...{ providerFileId: "file-2", providerBatchId: "pb-2", providerState: "in_progress" },
    ...{ pollMs: 30_000, expiresAt: minute(1440), nextAt: minute(20) },
    orphans: [{ providerBatchId: "pb-0", seenAt: minute(1), action: "cancelled" }],
    ledgers: [{ name: "acme/m", learnedTokens: 900, learnedAt: minute(1), strikes: 1, note: "slow down" }],
  };
  await store.transition("running", 1, running, minute(1));
  await settle(store, "running", minute(2), { "run-1": "succeeded", past: { lane: "chat", notBefore: minute(3) } });
  await store.amend({ kind: "cancel", ids: ["run-4"], payload: payload("run-4"), code: "c" }, sinks, minute(2));
}

async function fillWaiting(store: Store): Promise<void> {
  await put(store, minute(3), "chat", [
    ...["wait-a1", "wait-a2", "wait-a3"].map((id) => [id, "a", 100] as const),
    ...["wait-b1", "wait-b2"].map((id) => [id, "b", 50] as const),
    ["wait-none", "", 10],
    ["wait-low", "b", 10, { priority: -2 }],
    ["wait-high", "a", 10, { priority: 5, metadata: '{"of":"high"}' }],
    ["wait-soon", "b", 10, { deadlineAt: minute(8) }],
    ["wait-long", "", 10, { deadlineAt: minute(120) }],
    ["dropped", "a", 10],
    ["refused", "a", 10],
    ["late", "a", 10, { deadlineAt: minute(3.5) }],
  ]);
  const embeds: Line[] = [
    ["wait-e1", "a", 5],
    ["wait-e2", "a", 5],
    ["wait-e3", "b", 5, { priority: 1 }],
  ];
  await put(store, minute(3), "embed", embeds);
  await store.amend({ kind: "cancel", ids: ["dropped"], payload: payload("dropped"), code: "c" }, sinks, minute(4));
  await store.amend({ kind: "fail", ids: ["refused"], payload: payload("refused"), code: "c" }, sinks, minute(4));
  await store.amend({ kind: "retry", ids: ["bad-2"], lanes: ["chat"] }, sinks, minute(4));
  await store.amend({ kind: "expire", limit: 10, payload: payload("late"), code: "c" }, sinks, minute(4));
}

/**
 * Of the hook: one made, one put off, one dead, one taken by a process that died. Of the log: one
 * put off.
 */
async function fillDeliveries(store: Store): Promise<void> {
  const until = { leaseUntil: minute(6) };
  await store.deliveries({ now: minute(4), reports: [], take: { sinks: ["hook"], limit: 4, ...until } });
  await store.deliveries({ now: minute(4), reports: [], take: { sinks: ["log"], limit: 1, ...until } });
  const of = { attempt: 1, at: minute(4), nextAt: 0 };
  const reports: DeliveryReport[] = [
    { ...of, cursor: 1, sink: "hook", statusCode: 200, error: null, result: "delivered" },
    { ...of, cursor: 2, sink: "hook", statusCode: 503, error: "busy", result: "retry", nextAt: minute(20) },
    { ...of, cursor: 3, sink: "hook", statusCode: 410, error: "gone", result: "dead" },
    { ...of, cursor: 1, sink: "log", statusCode: null, error: "no route", result: "retry", nextAt: minute(7) },
  ];
  await store.deliveries({ now: minute(4), reports, take: null });
}

async function put(store: Store, at: number, lane: string, lines: readonly Line[]): Promise<void> {
  await store.enqueue(
    lines.map((line) => row(line, lane)),
    at,
  );
}

/** All of the lane that may go, on a ledger with no limits of its own. */
export async function seal(
  store: Store,
  key: string,
  lane: string,
  now: number,
  ledger = "acme/m",
  most = 100,
): Promise<SealResult> {
  return store.seal({
    ...{ key, lane, account: "acme", ledger, owner: "old", leaseUntil: now + 60_000, now },
    // As the dispatcher passes it after it has learned 900.
    limits: { tokens: ledger === "acme/m" ? 900 : Infinity, requests: Infinity, batches: Infinity },
    ...{ maxRequests: most, maxBytes: Infinity, maxTokens: Infinity, minRequests: 1, avoidCounts: [] },
  });
}

async function settle(store: Store, key: string, now: number, decisions: Record<string, Decision>): Promise<void> {
  const members = await store.requests({ batchKey: key, fromOrd: 0, limit: 100 });
  const items = Object.entries(decisions).map(([id, decision]): Settlement => {
    const ord = members.findIndex((member) => member.id === id);
    if (typeof decision !== "string") return { ord, kind: "requeue", code: "server_error", charged: true, ...decision };
    return { ord, kind: "final", status: decision, payload: payload(id), code: null, usage: null, charged: true };
  });
  await store.settle({ key, fence: 1, items, sinks, cancelledPayload: payload("cancelled"), cancelledCode: "c", now });
}
