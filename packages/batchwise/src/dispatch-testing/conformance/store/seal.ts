// Cases on sealing a batch: caps, refusals, ledgers, and concurrent sealers.

import { deepEqual, ok } from "node:assert/strict";
import type { LedgerChanges, LedgerRow } from "../../../dispatch/contract/store/ledger-rows.ts";
import type { Store } from "../../../dispatch/contract/store/store.ts";
import {
  batchOf,
  claimed,
  final,
  keyOf,
  LANE,
  many,
  memberIds,
  NOW,
  refused,
  request,
  type StoreCase,
  sealed,
  sealInput,
  settleInput,
  storeCase,
} from "./case.ts";

const LEDGER = "openai/gpt-4o-mini";
const INFINITE = { tokens: Infinity, requests: Infinity, batches: Infinity };

async function ledger(store: Store, name = LEDGER, now = NOW): Promise<LedgerRow | undefined> {
  const { ledgers } = await store.probe(1, now);
  return ledgers.find((row) => row.name === name);
}

const capCases: readonly StoreCase[] = [
  storeCase("makes a sealed batch that is leased to its sealer with fence 1", async (store) => {
    await store.enqueue(many(3, { bytes: 7, tokens: 5 }), NOW);
    const batch = batchOf(await store.seal(sealInput(1, { now: NOW + 5 })));
    deepEqual(batch, {
      ...{ key: keyOf(1), lane: LANE, account: "openai", ledger: LEDGER, state: "sealed" },
      ...{ requests: 3, bytes: 21, tokens: 15, remaining: 3, cancelRequested: 0 },
      ...{ createdAt: NOW + 5, updatedAt: NOW + 5, nextAt: NOW + 5, submitAttempt: 0, submitStartedAt: null },
      ...{ unknownSince: null, tries: 0, triesSince: null, wholeFailures: 0, firstRefusedAt: null },
      ...{ lastRefusedAt: null, splitAt: null, inline: null, providerFileId: null, filePendingSince: null },
      ...{ providerBatchId: null, verified: true, lostLooks: 0, lostSince: null, breaks: 0, failedReads: 0 },
      ...{ unreadableReads: 0, shortReads: null, failedSteps: 0 },
      ...{ providerState: null, cancelSentAt: null, disposal: null, lastError: null, pollMs: 0, expiresAt: null },
      deadlineAt: null,
      ...{ leaseOwner: "one", leaseUntil: sealInput(1).leaseUntil, fence: 1, orphans: [] },
    });
    deepEqual(await store.batches({ limit: 10 }), [batch]);
  }),

  storeCase("keeps the earliest deadline of those it claims", async (store) => {
    const soon = { deadlineAt: NOW + 20 };
    await store.enqueue([request("a"), request("b", soon), request("c", { deadlineAt: NOW + 10 })], NOW);
    await store.enqueue([request("d", { deadlineAt: NOW + 5, priority: 1 }), request("e", soon)], NOW);
    const first = batchOf(await store.seal(sealInput(1, { maxRequests: 3 })));
    deepEqual([await memberIds(store, first.key), first.deadlineAt], [["d", "a", "b"], NOW + 5]);
    deepEqual(batchOf(await store.seal(sealInput(2))).deadlineAt, NOW + 10);
    await store.transition(keyOf(1), 1, { deadlineAt: NOW + 20 }, NOW);
    deepEqual((await store.batches({ keys: [keyOf(1)], limit: 1 }))[0]?.deadlineAt, NOW + 20);
  }),

  storeCase("claims no more than maxRequests and keeps the rest in order", async (store) => {
    await store.enqueue(many(5), NOW);
    deepEqual(await claimed(store, 1, { maxRequests: 2 }), ["r0", "r1"]);
    deepEqual(await claimed(store, 2, { maxRequests: 2 }), ["r2", "r3"]);
    deepEqual(await claimed(store, 3, { maxRequests: 2 }), ["r4"]);
  }),

  storeCase("claims no more than maxBytes and maxTokens, to the last one that fits", async (store) => {
    await store.enqueue(many(9, { bytes: 10, tokens: 3 }), NOW);
    deepEqual((await claimed(store, 1, { maxBytes: 30 })).length, 3);
    deepEqual((await claimed(store, 2, { maxBytes: 29 })).length, 2);
    deepEqual((await claimed(store, 3, { maxTokens: 6 })).length, 2);
    deepEqual((await claimed(store, 4, { maxTokens: 5 })).length, 1);
  }),

  storeCase("claims a prefix: it skips nothing to fit a smaller request in", async (store) => {
    await store.enqueue([request("a"), request("big", { bytes: 500 }), request("c")], NOW);
    deepEqual(await claimed(store, 1, { maxBytes: 300 }), ["a"]);
    await refused(store, sealInput(2, { maxBytes: 300 }), "head_too_large");
  }),

  storeCase("never makes a batch of a size to avoid", async (store) => {
    await store.enqueue(many(12), NOW);
    deepEqual((await claimed(store, 1, { maxRequests: 5, avoidCounts: [5, 4, 7] })).length, 3);
    deepEqual((await claimed(store, 2, { maxRequests: 2, avoidCounts: [2, 1] })).length, 1);
    await refused(store, sealInput(3, { maxRequests: 5, avoidCounts: [5], minRequests: 5 }), "too_few");
    deepEqual(await claimed(store, 4, { maxRequests: 2 }), ["r4", "r5"]);
  }),

  storeCase("answers a repeated seal with the batch and claims nothing more", async (store) => {
    const batch = await sealed(store, 1, 3);
    await store.enqueue(many(2), NOW);
    deepEqual(await store.seal(sealInput(1)), { ok: true, batch });
    deepEqual((await store.probe(10, NOW)).lanes[0]?.ready, 2);
    deepEqual((await ledger(store))?.batches, 1);
  }),
];

const refusalCases: readonly StoreCase[] = [
  storeCase("refuses an empty lane, and one without a ready request", async (store) => {
    await refused(store, sealInput(1), "empty");
    deepEqual(await store.seal(sealInput(1)), { ok: false, reason: "empty", head: null });
    await store.enqueue([request("late", { deadlineAt: NOW - 1 })], NOW - 5);
    await refused(store, sealInput(1), "empty");
  }),

  storeCase("refuses fewer than minRequests, and names the head", async (store) => {
    await store.enqueue(many(3), NOW);
    await refused(store, sealInput(1, { minRequests: 4 }), "too_few");
    deepEqual(await store.seal(sealInput(1, { minRequests: 4 })), {
      ok: false,
      reason: "too_few",
      head: { id: "r0", bytes: 100, tokens: 10 },
    });
    deepEqual((await claimed(store, 2, { minRequests: 3 })).length, 3);
  }),

  storeCase("refuses a head that breaks a cap by itself", async (store) => {
    await store.enqueue([request("big", { bytes: 900, tokens: 90 })], NOW);
    await refused(store, sealInput(1, { maxBytes: 899 }), "head_too_large");
    await refused(store, sealInput(1, { maxTokens: 89 }), "head_too_large");
    deepEqual(await claimed(store, 1, { maxBytes: 900, maxTokens: 90 }), ["big"]);
  }),

  storeCase("refuses while the ledger is blocked, before it looks for anything else", async (store) => {
    const batch = await sealed(store, 1, 1);
    await store.transition(batch.key, 1, { ledgers: [{ name: LEDGER, blockedUntil: NOW + 10 }] }, NOW);
    await refused(store, sealInput(2), "blocked");
    await store.enqueue([request("a")], NOW);
    await refused(store, sealInput(2, { maxBytes: 1 }), "blocked");
    deepEqual(await claimed(store, 3, { ledger: "another" }), ["a"]);
    await store.enqueue([request("b")], NOW);
    deepEqual(await claimed(store, 4, { now: NOW + 10 }), ["b"]);
  }),

  storeCase(
    "reports no_headroom before head_too_large when nothing is left, and after it for tokens",
    async (store) => {
      await store.enqueue([request("big", { tokens: 90 })], NOW);
      await refused(store, sealInput(1, { maxTokens: 5, limits: { ...INFINITE, batches: 0 } }), "no_headroom");
      await refused(store, sealInput(1, { maxTokens: 5, limits: { ...INFINITE, requests: 0 } }), "no_headroom");
      await refused(store, sealInput(1, { maxTokens: 5, limits: { ...INFINITE, tokens: 6 } }), "head_too_large");
      await refused(store, sealInput(1, { limits: { ...INFINITE, tokens: 89 } }), "no_headroom");
    },
  ),
];

const ledgerCases: readonly StoreCase[] = [
  storeCase("reserves on the ledger and seals no more than it has left", async (store) => {
    await store.enqueue(many(20), NOW);
    const limits = { tokens: 120, requests: 15, batches: 3 };
    deepEqual((await claimed(store, 1, { limits, maxRequests: 5 })).length, 5);
    deepEqual((await claimed(store, 2, { limits })).length, 7);
    deepEqual(await ledger(store), {
      ...{ name: LEDGER, tokens: 120, requests: 12, batches: 2 },
      ...{ learnedTokens: null, learnedAt: null, blockedUntil: 0, strikes: 0, note: null, outage: null },
    });
    await refused(store, sealInput(3, { limits }), "no_headroom");
    deepEqual((await claimed(store, 4, { limits: { ...limits, tokens: 1_000 } })).length, 3);
    await refused(store, sealInput(5, { limits: { ...INFINITE, batches: 3 } }), "no_headroom");
    deepEqual((await claimed(store, 6, { ledger: "another", limits: { ...INFINITE, batches: 1 } })).length, 5);
  }),

  storeCase("keeps a learned limit, and a given one takes precedence", async (store) => {
    const batch = await sealed(store, 1, 1);
    const learned = {
      name: LEDGER,
      learnedTokens: 30,
      learnedAt: NOW,
      strikes: 2,
      note: '"n"',
      outage: '{"code":"o"}',
    };
    await store.transition(batch.key, 1, { ledgers: [learned] }, NOW);
    await store.enqueue(many(9), NOW);
    deepEqual((await claimed(store, 2, { limits: { ...INFINITE, tokens: 30 } })).length, 2);
    const row = await ledger(store);
    deepEqual([row?.learnedTokens, row?.learnedAt, row?.strikes, row?.note], [30, NOW, 2, '"n"']);
    await store.transition(batch.key, 1, { ledgers: [{ name: LEDGER, learnedTokens: null, strikes: 0 }] }, NOW);
    deepEqual((await claimed(store, 3, { limits: { ...INFINITE, tokens: 50 } })).length, 2);
    deepEqual((await ledger(store))?.note, '"n"');
  }),

  storeCase("changes a ledger only while it has the pause that the change names", async (store) => {
    const batch = await sealed(store, 1, 1);
    const writtenBy = async (changes: Omit<LedgerChanges, "name">) => {
      const result = await store.transition(batch.key, 1, { ledgers: [{ name: LEDGER, ...changes }] }, NOW);
      return result.ok && result.written;
    };
    await writtenBy({ blockedUntil: NOW + 0.5, note: "first" });
    deepEqual(await writtenBy({ ifBlockedUntil: NOW + 1, blockedUntil: 0, note: null }), [false]);
    deepEqual([(await ledger(store))?.blockedUntil, (await ledger(store))?.note], [NOW + 0.5, "first"]);
    deepEqual(await writtenBy({ ifBlockedUntil: NOW + 0.5, blockedUntil: 0, note: null }), [true]);
    deepEqual([(await ledger(store))?.blockedUntil, (await ledger(store))?.note], [0, null]);
  }),

  storeCase("counts a pause as written that the ledger has already, as after a lost answer", async (store) => {
    const batch = await sealed(store, 1, 1);
    const writtenBy = async (changes: Omit<LedgerChanges, "name">) => {
      const result = await store.transition(batch.key, 1, { ledgers: [{ name: LEDGER, ...changes }] }, NOW);
      return result.ok && result.written;
    };
    const paused = { ifBlockedUntil: 0, blockedUntil: NOW + 0.5, note: "first" };
    deepEqual([await writtenBy(paused), await writtenBy({ ...paused, note: "second" })], [[true], [true]]);
    deepEqual([(await ledger(store))?.blockedUntil, (await ledger(store))?.note], [NOW + 0.5, "first"]);
    deepEqual(await writtenBy({ ifBlockedUntil: 0 }), [false]);
    deepEqual(await writtenBy({ ifBlockedUntil: NOW + 0.5 }), [true]);
  }),

  storeCase("never ends a pause earlier for a change that names the least", async (store) => {
    const batch = await sealed(store, 1, 1);
    const write = (...ledgers: LedgerChanges[]) => store.transition(batch.key, 1, { ledgers }, NOW);
    const result = await write(
      { name: "z", blockedAtLeast: NOW + 5, note: "new" },
      { name: LEDGER, blockedAtLeast: NOW + 10, strikes: 2, note: "first" },
      { name: LEDGER, blockedAtLeast: NOW + 7, strikes: 0, note: "second" },
      { name: "a", ifBlockedUntil: NOW, blockedAtLeast: NOW + 5 },
    );
    deepEqual(result.ok && result.written, [true, true, true, false]);
    const row = await ledger(store);
    deepEqual([row?.blockedUntil, row?.strikes, row?.note], [NOW + 10, 0, "second"]);
    deepEqual((await ledger(store, "z"))?.blockedUntil, NOW + 5);
  }),

  storeCase("stops counting a reservation at its release, not before", async (store) => {
    const limits = { ...INFINITE, batches: 1 };
    const batch = await sealed(store, 1, 2, { limits });
    await store.enqueue(many(2), NOW);
    await store.transition(batch.key, 1, { releaseAt: NOW + 50 }, NOW);
    await refused(store, sealInput(2, { limits, now: NOW + 49 }), "no_headroom");
    deepEqual((await ledger(store, LEDGER, NOW + 49))?.tokens, 20);
    deepEqual((await ledger(store, LEDGER, NOW + 50))?.tokens, 0);
    deepEqual((await claimed(store, 3, { limits, now: NOW + 50 })).length, 2);
  }),

  storeCase("counts a reservation again after its release, until the next one", async (store) => {
    const limits = { ...INFINITE, batches: 1 };
    const batch = await sealed(store, 1, 2, { limits });
    await store.transition(batch.key, 1, { releaseAt: NOW }, NOW);
    deepEqual((await ledger(store, LEDGER, NOW + 1))?.tokens, 0);
    await store.transition(batch.key, 1, { releaseAt: null }, NOW + 1);
    const late = NOW + 400 * 86_400_000;
    await store.amend({ kind: "hasten", after: NOW + 1 }, [], NOW + 1);
    deepEqual((await ledger(store, LEDGER, late))?.tokens, 20);
    await store.enqueue(many(2), NOW);
    await refused(store, sealInput(2, { limits, now: late }), "no_headroom");
    await store.settle(settleInput(batch, [final(0), final(1)]));
    await store.transition(batch.key, 1, { state: "done" }, late);
    deepEqual((await ledger(store, LEDGER, late))?.tokens, 0);
  }),

  storeCase("releases the reservation of a batch that is done", async (store) => {
    const batch = await sealed(store, 1, 1);
    await store.settle(settleInput(batch, [final(0)]));
    deepEqual((await ledger(store))?.requests, 1);
    await store.transition(batch.key, 1, { state: "done" }, NOW + 5);
    deepEqual((await ledger(store, LEDGER, NOW + 5))?.requests, 0);
    const later = await sealed(store, 2, 1);
    await store.settle(settleInput(later, [final(0)]));
    await store.transition(later.key, 1, { state: "done", releaseAt: NOW + 100 }, NOW + 5);
    deepEqual((await ledger(store, LEDGER, NOW + 99))?.requests, 1);
    deepEqual((await ledger(store, LEDGER, NOW + 100))?.requests, 0);
  }),
];

const meetingCases: readonly StoreCase[] = [
  storeCase("puts no request in two batches when many seal at once", async (store, open) => {
    const other = await open();
    await store.enqueue(many(200), NOW);
    const seals = Array.from({ length: 12 }, (_, n) =>
      (n % 2 ? store : other).seal(sealInput(n, { maxRequests: 25, owner: `o${n}` })),
    );
    const results = await Promise.all(seals);
    const keys = results.filter((result) => result.ok).map((result) => batchOf(result).key);
    const members = (await Promise.all(keys.map((key) => memberIds(store, key)))).flat();
    deepEqual(members.length, 200);
    deepEqual(new Set(members).size, 200);
  }),

  storeCase("never overshoots a ledger when many seal at once", async (store, open) => {
    const other = await open();
    await store.enqueue(many(100), NOW);
    const limits = { tokens: 305, requests: Infinity, batches: 4 };
    const seals = Array.from({ length: 10 }, (_, n) =>
      (n % 2 ? store : other).seal(sealInput(n, { maxRequests: 9, limits })),
    );
    await Promise.all(seals);
    const row = await ledger(store);
    ok(row !== undefined && row.tokens <= 305 && row.batches <= 4, `booked ${row?.tokens} tokens`);
    deepEqual((await store.probe(1_000, NOW)).lanes[0]?.ready, 100 - row.requests);
  }),
];

export const sealCases: readonly StoreCase[] = [...capCases, ...refusalCases, ...ledgerCases, ...meetingCases];
