// Cases on leases and on the writes that they allow: lease, transition, and reading batches.

import { deepEqual } from "node:assert/strict";
import type { LeaseInput } from "../../../dispatch/contract/store/calls.ts";
import type { BatchRow } from "../../../dispatch/contract/store/rows.ts";
import type { Store } from "../../../dispatch/contract/store/store.ts";
import { batchOf, final, keyOf, many, NOW, type StoreCase, sealed, sealInput, settleInput, storeCase } from "./case.ts";

/** A time after the leases of `sealed` have expired. */
const LATER = sealInput(0).leaseUntil;

function leaseInput(changes: Partial<LeaseInput> = {}): LeaseInput {
  return { owner: "two", now: LATER, leaseUntil: LATER + 90_000, accounts: ["openai"], limit: 10, ...changes };
}

async function leased(store: Store, changes: Partial<LeaseInput> = {}): Promise<string[]> {
  return (await store.lease(leaseInput(changes))).map(({ key }) => key);
}

async function batch(store: Store, n: number): Promise<BatchRow | undefined> {
  return (await store.batches({ keys: [keyOf(n)], limit: 1 }))[0];
}

const leaseCases: readonly StoreCase[] = [
  storeCase("leases a due batch once its lease has run out, with the next fence", async (store) => {
    const before = await sealed(store, 1, 2);
    deepEqual(await leased(store, { now: LATER - 1 }), []);
    const [row] = await store.lease(leaseInput());
    deepEqual(row, { ...before, leaseOwner: "two", leaseUntil: LATER + 90_000, fence: 2 });
    deepEqual(await batch(store, 1), row);
    deepEqual(await leased(store), []);
  }),

  storeCase("counts a lease as expired by `freeAt` if given, and a batch as due by `now`", async (store) => {
    await sealed(store, 1, 1);
    await sealed(store, 2, 1);
    await store.transition(keyOf(2), 1, { nextAt: LATER + 1 }, NOW);
    deepEqual(await leased(store, { freeAt: LATER - 1 }), []);
    deepEqual(await leased(store, { now: NOW - 1, freeAt: LATER }), []);
    deepEqual(await leased(store, { now: NOW, freeAt: LATER }), [keyOf(1)]);
  }),

  storeCase("returns its own time in ms since 1970, if it has one, and the time advances", async (store) => {
    const begunAt = Date.now();
    const [first, second] = [(await store.now?.()) ?? begunAt, (await store.now?.()) ?? begunAt];
    deepEqual([first <= second, Math.abs(first - begunAt) < 86_400_000], [true, true]);
  }),

  storeCase("leases due batches of the given accounts, the longest due first, up to the limit", async (store) => {
    for (const n of [1, 2, 3, 4]) await sealed(store, n, 1, { account: n === 4 ? "other" : "openai" });
    await store.transition(keyOf(1), 1, { nextAt: LATER - 5 }, NOW);
    await store.transition(keyOf(2), 1, { nextAt: LATER - 10 }, NOW);
    await store.transition(keyOf(3), 1, { nextAt: LATER + 1 }, NOW);
    deepEqual(await leased(store, { limit: 1 }), [keyOf(2)]);
    deepEqual(await leased(store), [keyOf(1)]);
    deepEqual(await leased(store, { accounts: ["other", "openai"], now: LATER + 1 }), [keyOf(4), keyOf(3)]);
    deepEqual(await leased(store, { accounts: [] }), []);
  }),

  storeCase("leases neither done nor quarantined batches, except by key", async (store) => {
    const done = await sealed(store, 1, 1);
    await sealed(store, 2, 1);
    await sealed(store, 3, 1);
    await store.settle(settleInput(done, [final(0)]));
    await store.transition(keyOf(1), 1, { state: "done" }, NOW);
    await store.transition(keyOf(2), 1, { state: "quarantined" }, NOW);
    await store.transition(keyOf(3), 1, { nextAt: LATER + 1_000 }, NOW);
    deepEqual(await leased(store), []);
    const keys = [1, 2, 3, 4].map(keyOf);
    deepEqual((await leased(store, { keys })).sort(), [keyOf(1), keyOf(2), keyOf(3)]);
    deepEqual(await leased(store, { keys }), []);
  }),

  storeCase("gives a batch to one of many that lease at once", async (store, open) => {
    const other = await open();
    for (let n = 0; n < 6; n += 1) await sealed(store, n, 1);
    const calls = Array.from({ length: 8 }, (_, n) =>
      (n % 2 ? store : other).lease(leaseInput({ owner: `o${n}`, limit: 2 })),
    );
    const taken = (await Promise.all(calls)).flat();
    deepEqual(new Set(taken.map(({ key }) => key)).size, taken.length);
    deepEqual([...new Set(taken.map(({ fence }) => fence))], [2]);
  }),
];

const transitionCases: readonly StoreCase[] = [
  storeCase("sets the given fields and keeps the others", async (store) => {
    const before = await sealed(store, 1, 1);
    const changes = {
      ...({ state: "submitting", submitAttempt: 1, submitStartedAt: NOW + 3, unknownSince: NOW + 4 } as const),
      ...{ tries: 2, triesSince: NOW + 1, wholeFailures: 1, firstRefusedAt: NOW + 1, lastRefusedAt: NOW + 2 },
      ...{ splitAt: NOW + 2, inline: false, providerFileId: "file-1", filePendingSince: NOW + 3 },
      ...{ providerBatchId: "batch_1", verified: false, lostLooks: 3, lostSince: NOW + 4, breaks: 4 },
      ...{ failedReads: 5, unreadableReads: 6, shortReads: '{"lines":1}', failedSteps: 7 },
      ...{
        providerState: "validating",
        cancelSentAt: NOW + 5,
        disposal: '{"kind":"requeue"}',
        lastError: '{"code":"x"}',
      },
      ...{
        pollMs: 30_000,
        expiresAt: NOW + 86_400_000,
        deadlineAt: NOW + 9,
        nextAt: NOW + 30_000,
        leaseUntil: NOW + 60_000,
      },
    };
    const result = await store.transition(keyOf(1), 1, changes, NOW + 7);
    const expected = { ...before, ...changes, updatedAt: NOW + 7 };
    deepEqual(result, { ok: true, batch: expected, written: [] });
    const nothing = { providerFileId: null, submitStartedAt: null, lastError: null, inline: null } as const;
    const cleared = { ...nothing, tries: 0, firstRefusedAt: null, shortReads: null, state: "sealed" } as const;
    await store.transition(keyOf(1), 1, cleared, NOW + 8);
    deepEqual(await batch(store, 1), { ...expected, ...cleared, updatedAt: NOW + 8 });
  }),

  storeCase("changes nothing under an old fence or an unknown key", async (store) => {
    await sealed(store, 1, 1);
    await store.lease(leaseInput());
    const before = await batch(store, 1);
    const ledgers = [{ name: "openai", strikes: 9 }];
    const refused = { ok: false, reason: "fence" };
    deepEqual(await store.transition(keyOf(1), 1, { state: "submitting", ledgers }, LATER), refused);
    deepEqual(await store.transition(keyOf(1), 3, { state: "submitting", ledgers }, LATER), refused);
    deepEqual(await store.transition(keyOf(2), 1, { state: "submitting", ledgers }, LATER), refused);
    deepEqual(await batch(store, 1), before);
    deepEqual((await store.probe(1, LATER)).ledgers.length, 1);
  }),

  storeCase("lets a holder write after its lease has expired, until another takes it", async (store) => {
    await sealed(store, 1, 1);
    const result = await store.transition(keyOf(1), 1, { state: "submitting" }, LATER + 1_000);
    deepEqual(result.ok, true);
  }),

  storeCase("refuses an exclusive write while another batch of the account is unresolved", async (store) => {
    await sealed(store, 1, 1);
    await sealed(store, 2, 1);
    await sealed(store, 3, 1, { account: "other" });
    const intent = { state: "submitting", exclusive: true } as const;
    deepEqual((await store.transition(keyOf(1), 1, intent, NOW)).ok, true);
    deepEqual((await store.transition(keyOf(1), 1, intent, NOW)).ok, true);
    deepEqual(await store.transition(keyOf(2), 1, intent, NOW), { ok: false, reason: "busy" });
    deepEqual((await store.transition(keyOf(3), 1, intent, NOW)).ok, true);
    await store.transition(keyOf(1), 1, { state: "unknown" }, NOW);
    deepEqual(await store.transition(keyOf(2), 1, intent, NOW), { ok: false, reason: "busy" });
    deepEqual((await batch(store, 2))?.state, "sealed");
    await store.transition(keyOf(1), 1, { state: "submitted" }, NOW);
    deepEqual((await store.transition(keyOf(2), 1, intent, NOW)).ok, true);
  }),

  storeCase("lets one of two concurrent exclusive intents pass", async (store, open) => {
    const other = await open();
    await sealed(store, 1, 1);
    await sealed(store, 2, 1);
    const intent = { state: "submitting", exclusive: true } as const;
    const results = await Promise.all([
      store.transition(keyOf(1), 1, intent, NOW),
      other.transition(keyOf(2), 1, intent, NOW),
    ]);
    deepEqual(results.map(({ ok }) => ok).sort(), [false, true]);
  }),

  storeCase("gives a provider's batch to one batch of an account", async (store) => {
    await sealed(store, 1, 1);
    await sealed(store, 2, 1);
    await sealed(store, 3, 1, { account: "other" });
    const adopt = { providerBatchId: "batch_1" };
    deepEqual((await store.transition(keyOf(1), 1, adopt, NOW)).ok, true);
    deepEqual(await store.transition(keyOf(2), 1, adopt, NOW), { ok: false, reason: "taken" });
    deepEqual((await store.transition(keyOf(3), 1, adopt, NOW)).ok, true);
    await store.transition(keyOf(1), 1, { providerBatchId: null }, NOW);
    deepEqual((await store.transition(keyOf(2), 1, adopt, NOW)).ok, true);
  }),

  storeCase("ends no batch that has open members", async (store) => {
    const row = await sealed(store, 1, 2);
    await store.settle(settleInput(row, [final(0)]));
    deepEqual(await store.transition(keyOf(1), 1, { state: "done" }, NOW), { ok: false, reason: "open" });
    await store.settle(settleInput(row, [final(1)]));
    deepEqual((await store.transition(keyOf(1), 1, { state: "done" }, NOW)).ok, true);
    deepEqual((await store.probe(1, NOW)).batches.done, 1);
    await store.transition(keyOf(1), 1, { state: "done" }, NOW);
    deepEqual((await store.probe(1, NOW)).batches.done, 1);
  }),

  storeCase("adds orphans, one row for each provider id", async (store) => {
    await sealed(store, 1, 1);
    const seen = { providerBatchId: "batch_1", seenAt: NOW, action: "ended" } as const;
    await store.transition(keyOf(1), 1, { orphans: [seen] }, NOW);
    const again = { ...seen, seenAt: NOW + 1, action: "cancelled" } as const;
    const second = { ...seen, providerBatchId: "batch_2" };
    await store.transition(keyOf(1), 1, { orphans: [second, again] }, NOW);
    const orphans = (await batch(store, 1))?.orphans ?? [];
    deepEqual(
      orphans.toSorted((a, b) => (a.providerBatchId < b.providerBatchId ? -1 : 1)),
      [again, second],
    );
  }),
];

const readingCases: readonly StoreCase[] = [
  storeCase("reads batches newest first, all filters matching", async (store) => {
    await store.enqueue(many(8), NOW);
    const when = [NOW, NOW + 2, NOW + 2, NOW + 1];
    for (const [n, now] of when.entries()) {
      const account = n === 1 ? "other" : "openai";
      batchOf(await store.seal(sealInput(n, { now, maxRequests: 1, account })));
    }
    await store.transition(keyOf(0), 1, { providerBatchId: "batch_0", state: "running" }, NOW);
    const orphan = { providerBatchId: "batch_9", seenAt: NOW, action: "cancelled" } as const;
    await store.transition(keyOf(3), 1, { orphans: [orphan] }, NOW);
    const read = async (query: Partial<Parameters<Store["batches"]>[0]>): Promise<number[]> =>
      (await store.batches({ limit: 10, ...query })).map(({ key }) => Number(key.slice(3)));
    deepEqual(await read({}), [2, 1, 3, 0]);
    deepEqual(await read({ limit: 2 }), [2, 1]);
    deepEqual(await read({ account: "openai" }), [2, 3, 0]);
    deepEqual(await read({ states: ["running", "done"] }), [0]);
    deepEqual(await read({ keys: [keyOf(0), keyOf(1), keyOf(7)] }), [1, 0]);
    deepEqual(await read({ keys: [] }), []);
    deepEqual(await read({ providerBatchIds: ["batch_9", "batch_0", "batch_7"] }), [3, 0]);
    deepEqual(await read({ providerBatchIds: ["batch_9"], account: "other" }), []);
  }),
];

export const holdCases: readonly StoreCase[] = [...leaseCases, ...transitionCases, ...readingCases];
