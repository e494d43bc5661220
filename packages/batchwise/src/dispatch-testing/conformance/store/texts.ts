// Cases on odd texts outside bodies, fractions and large counts. The longest and oddest values that
// the contract allows come back unchanged. A search for a value that no store can hold finds
// nothing and does not throw.

import { deepEqual } from "node:assert/strict";
import {
  ended,
  keyOf,
  LANE,
  NOW,
  OK,
  request,
  requeue,
  type StoreCase,
  sealed,
  settleInput,
  storeCase,
} from "./case.ts";

/**
 * A text of this length: control characters, quotes, a backslash, several scripts, a surrogate
 * pair.
 */
function oddText(length: number): string {
  const some = "\u0001\t\n\r\"'\\\\?$1 %s {}\u2028\ufffdé語\u{1f643}";
  const cut = some.repeat(Math.ceil(length / some.length)).slice(0, length - 1);
  return `${cut}x`.replace(/\p{Surrogate}/gu, "x");
}

const CODE = oddText(256);
const TEXT = oddText(2_000);
const UNSTORABLE = [
  ["a NUL", "no\0thing"],
  ["half a surrogate pair", "half \ud83d"],
] as const;
const MOST = 1_000_000_000;

const written: readonly StoreCase[] = [
  storeCase("keeps the longest and oddest codes, and finds requests by them", async (store) => {
    const batch = await sealed(store, 1, 3);
    await store.settle(settleInput(batch, [ended(0, { code: CODE }), requeue(1, { code: CODE })]));
    await store.amend({ kind: "cancel", ids: ["b1-1"], payload: OK, code: CODE }, [], NOW);
    const { rows } = await store.find({ match: { code: CODE }, after: 0, limit: 10 });
    deepEqual(
      rows.map(({ id, ended: end }) => [id, end?.code]),
      [
        ["b1-0", CODE],
        ["b1-1", CODE],
      ],
    );
    const [again] = await store.requests({ ids: ["b1-1"], history: true });
    deepEqual(
      again?.history?.map(({ code }) => code),
      [CODE],
    );
  }),

  storeCase("keeps the longest and oddest ids, states and notes of a provider", async (store) => {
    await sealed(store, 1, 1);
    const lastError = JSON.stringify({ code: "c\0", message: "\ud83d".repeat(20_000) });
    const texts = { providerFileId: TEXT, providerBatchId: TEXT, providerState: TEXT, lastError, disposal: lastError };
    const orphans = [{ providerBatchId: `${TEXT}2`.slice(1), seenAt: NOW + 0.5, action: "ended" }] as const;
    const ledgers = [{ name: "openai", note: TEXT }];
    const result = await store.transition(keyOf(1), 1, { ...texts, orphans, ledgers }, NOW);
    deepEqual(result.ok, true);
    const [batch] = await store.batches({ providerBatchIds: [TEXT], limit: 1 });
    const { providerFileId, providerBatchId, providerState } = batch ?? {};
    const kept = {
      providerFileId,
      providerBatchId,
      providerState,
      lastError: batch?.lastError,
      disposal: batch?.disposal,
    };
    deepEqual(kept, texts);
    deepEqual(batch?.orphans, orphans);
    deepEqual((await store.probe(1, NOW)).ledgers.find(({ name }) => name === "openai")?.note, TEXT);
  }),

  storeCase("keeps the longest and oddest errors of deliveries", async (store) => {
    await store.enqueue([request("a")], NOW);
    await store.amend({ kind: "cancel", ids: ["a"], payload: OK, code: "c" }, ["hook"], NOW);
    const take = { sinks: ["hook"], limit: 1, leaseUntil: NOW + 9 };
    const [taken] = await store.deliveries({ now: NOW, reports: [], take });
    const of = { cursor: taken?.outcome.cursor ?? 0, sink: "hook", attempt: 1, at: NOW + 0.25, statusCode: null };
    const report = { ...of, error: TEXT, result: "retry", nextAt: NOW + 10.75 } as const;
    await store.deliveries({ now: NOW, reports: [report], take: null });
    const [outcome] = await store.outcomes({ ids: ["a"], deliveries: true });
    const [delivery] = outcome?.deliveries ?? [];
    deepEqual(
      [delivery?.log, delivery?.nextAt],
      [[{ attempt: 1, at: NOW + 0.25, statusCode: null, error: TEXT }], NOW + 10.75],
    );
  }),

  storeCase("keeps marks of the longest and oddest names and values", async (store) => {
    const changes = [{ name: TEXT, expected: null, value: JSON.stringify({ reason: `\0${TEXT}` }) }];
    const marks = [{ name: TEXT, value: changes[0]?.value }];
    deepEqual(await store.marks(changes, NOW), marks);
    deepEqual(await store.marks([], NOW), marks);
  }),

  storeCase("keeps fractions of milliseconds", async (store) => {
    const batch = await sealed(store, 1, 1);
    const at = NOW + 1_000.125;
    const times = { pollMs: 0.5, nextAt: at, expiresAt: at, unknownSince: at, submitStartedAt: at };
    await store.transition(batch.key, 1, { ...times, leaseUntil: 0 }, NOW + 0.5);
    const [row] = await store.batches({ keys: [batch.key], limit: 1 });
    const { pollMs, nextAt, expiresAt, unknownSince, submitStartedAt, updatedAt } = row ?? {};
    deepEqual({ pollMs, nextAt, expiresAt, unknownSince, submitStartedAt }, times);
    deepEqual(updatedAt, NOW + 0.5);
    const due = { owner: "two", now: Math.floor(at), leaseUntil: at + 1, accounts: [batch.account], limit: 1 };
    deepEqual(await store.lease(due), []);
    deepEqual((await store.lease({ ...due, now: at })).length, 1);
  }),

  storeCase("adds up the largest counts exactly", async (store) => {
    const batch = await sealed(store, 1, 1_000);
    const usage = { inputTokens: MOST, cachedTokens: MOST - 1, outputTokens: 1, reasoningTokens: 0 };
    const items = Array.from({ length: 1_000 }, (_, ord) => ended(ord, { usage }));
    await store.settle(settleInput(batch, items));
    const [row] = await store.usage({ tenant: "" });
    const sums = [row?.inputTokens, row?.cachedTokens, row?.outputTokens, row?.reasoningTokens];
    deepEqual(sums, [MOST * 1_000, (MOST - 1) * 1_000, 1_000, 0]);
  }),
];

const lookedFor = UNSTORABLE.map(([what, odd]) =>
  storeCase(`finds nothing that is called by a text with ${what}, and takes no harm`, async (store) => {
    const batch = await sealed(store, 1, 1);
    await store.enqueue([request("w", { job: "j", tenant: "t" })], NOW);
    deepEqual(await store.usage({ tenant: odd }), []);
    deepEqual(await store.usage({ job: odd, tenant: "t" }), []);
    for (const match of [{ tenant: odd }, { job: odd }, { code: odd }, { batchKey: odd }, { job: "j", tenant: odd }]) {
      const found: string[] = [];
      for (let after: number | null = 0; after !== null; ) {
        const page: Awaited<ReturnType<typeof store.find>> = await store.find({ match, after, limit: 10 });
        found.push(...page.rows.map(({ id }) => id));
        after = page.next;
      }
      deepEqual(found, []);
    }
    deepEqual(await store.outcomes({ after: 0, limit: 9, job: odd }), []);
    deepEqual(await store.outcomes({ ids: [odd] }), []);
    deepEqual(await store.requests({ ids: [odd, "w"] }).then((rows) => rows.map(({ id }) => id)), ["w"]);
    deepEqual(await store.requests({ batchKey: odd, fromOrd: 0, limit: 9 }), []);
    deepEqual(await store.batches({ account: odd, limit: 9 }), []);
    const keys = [odd, batch.key];
    deepEqual((await store.batches({ keys, limit: 9 })).length, 1);
    deepEqual(await store.batches({ providerBatchIds: [odd], limit: 9 }), []);
    const lease = { owner: "two", now: NOW + 1e9, leaseUntil: NOW + 2e9, accounts: [batch.account], limit: 9, keys };
    deepEqual((await store.lease(lease)).length, 1);
    const cancel = { kind: "cancel", ids: [odd], payload: OK, code: "c" } as const;
    deepEqual(await store.amend(cancel, [], NOW), [{ id: odd, result: "not_found" }]);
    const retry = { kind: "retry", ids: [odd], lanes: [LANE] } as const;
    deepEqual(await store.amend(retry, [], NOW), [{ id: odd, result: "not_found" }]);
  }),
);

export const textCases: readonly StoreCase[] = [...written, ...lookedFor];
