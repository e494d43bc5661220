// A poll ends only the pause that it disproves: not one that another process writes meanwhile, and
// not one for a refused key. If two new pauses are written at once, the refused key's reason stays,
// with the later end; events and reports name only pauses that were written.

import { expect, test } from "vitest";
import { endPause } from "../../../../src/dispatch/accounts/end-pause.ts";
import { outageText } from "../../../../src/dispatch/accounts/outage.ts";
import { closedByAnswer } from "../../../../src/dispatch/accounts/pause-changes.ts";
import { applyPlan } from "../../../../src/dispatch/batches/apply-plan.ts";
import { NO_EVIDENCE } from "../../../../src/dispatch/batches/batch-case.ts";
import { execute } from "../../../../src/dispatch/batches/execute/execute.ts";
import { plan } from "../../../../src/dispatch/batches/plan.ts";
import { poll } from "../../../../src/dispatch/batches/poll/poll.ts";
import { afterBatchFailure, PAUSE_MS } from "../../../../src/dispatch/batches/submit/after-failure.ts";
import { passesGate } from "../../../../src/dispatch/batches/submit/gate.ts";
import { tellOfRefusal } from "../../../../src/dispatch/batches/submit/tell-of-refusal.ts";
import { afterWholeFailure } from "../../../../src/dispatch/batches/submit/whole-failure.ts";
import type { BatchRow } from "../../../../src/dispatch/contract/store/rows.ts";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { Lease } from "../../../../src/dispatch/runtime/lease/lease.ts";
import { keyOf } from "../../../../src/dispatch-testing/conformance/store/case.ts";
import { losesAnswer, meanwhile, submitted } from "../../support/paused-account.ts";
import { batchCase } from "../../support/rows.ts";
import { START } from "../../support/world.ts";

const REFUSED = { code: "invalid_api_key", message: "No." };
const FULL = { kind: "tokenLimit", code: "token_limit", message: "Full.", limitTokens: null } as const;
const MINUTE = 60_000;

const outage = { code: "batch_failed", since: START - 1, pauses: 1, probe: null, holdUntil: START + MINUTE };

test.each([
  ["a used-up limit", { strikes: 1 }],
  ["an outage", { outage: outageText(outage) }],
])("the end of %s leaves a pause that is written meanwhile", async (_name, ledger) => {
  const { store, runtime, account, lease } = await submitted({ ...ledger, blockedUntil: START + MINUTE });
  const later = { name: account.name, blockedUntil: START + PAUSE_MS, note: REFUSED.code, strikes: 0 };
  meanwhile(store, later);
  await poll(runtime, lease);
  expect((await store.batches({ keys: [keyOf(0)], limit: 1 }))[0]?.state).toBe("running");
  expect((await runtime.ledgers()).get(account.name)).toMatchObject(later);
});

test.each([
  ["a used-up limit", { strikes: 1 }],
  ["an outage", { outage: outageText(outage) }],
])("the end of %s is written where nothing else has paused the account", async (_name, ledger) => {
  const { runtime, account, lease } = await submitted({ ...ledger, blockedUntil: START + MINUTE });
  await poll(runtime, lease);
  expect((await runtime.ledgers()).get(account.name)).toMatchObject({ blockedUntil: 0, strikes: 0, outage: null });
});

test.each([
  ["a used-up limit", { strikes: 1 }],
  ["an outage", { outage: outageText(outage) }],
  ["a long outage", { outage: outageText({ ...outage, holdUntil: START + 70 * MINUTE }) }],
])("a key that is refused after %s stays paused when an earlier batch runs", async (_name, ledger) => {
  const { runtime, account, lease, other } = await submitted({ ...ledger, blockedUntil: START + MINUTE });
  const pausedUntil = START + PAUSE_MS;
  await applyPlan(
    runtime,
    other,
    plan("sealed", pausedUntil, { lastError: REFUSED, pauseAccountUntil: pausedUntil, isKeyRefused: true }),
    await runtime.ledgers(),
  );
  await poll(runtime, lease);
  expect((await runtime.ledgers()).get(account.name)).toMatchObject({ blockedUntil: pausedUntil, note: REFUSED.code });
});

test("the pause of a key that is refused in an outage ends once the account works", async () => {
  const long = { ...outage, holdUntil: START + 70 * MINUTE };
  const { runtime, account, other } = await submitted({ outage: outageText(long), blockedUntil: START + 60 * MINUTE });
  const pausedUntil = START + PAUSE_MS;
  const refused = { lastError: REFUSED, pauseAccountUntil: pausedUntil, isKeyRefused: true };
  await applyPlan(runtime, other, plan("sealed", pausedUntil, refused), await runtime.ledgers());
  expect((await runtime.ledgers()).get(account.name)).toMatchObject({
    blockedUntil: START + 60 * MINUTE,
    note: REFUSED.code,
  });
  await endPause(runtime, account);
  expect((await runtime.ledgers()).get(account.name)).toMatchObject({ blockedUntil: 0, outage: null });
});

test.each([
  ["limit", FULL.code],
  ["outage", "batch_failed"],
])("a %s is written over a pause that is disproved here and not ended in the store", async (kind, code) => {
  const { store, runtime, account, lease, pauses } = await submitted({
    blockedUntil: START + PAUSE_MS,
    note: REFUSED.code,
  });
  runtime.troubles.disprove(account.name, START + PAUSE_MS);
  const ledgers = await runtime.ledgers();
  const ledger = ledgers.get(account.name) ?? null;
  const met =
    kind === "limit" ? afterBatchFailure(batchCase(lease.batch, START, { ledger }), FULL) : outagePlan(lease.batch);
  expect(await applyPlan(runtime, lease, met, ledgers)).toBe(true);
  const [row] = (await store.probe(1, START)).ledgers;
  expect(row).toMatchObject({ blockedUntil: pauses[0]?.until, note: code });
  expect(pauses).toMatchObject([{ code }]);
});

test("a learned limit that a batch refutes is forgotten while a pause that is disproved here stands", async () => {
  const { store, runtime, account, lease } = await submitted({
    ...{ blockedUntil: START + PAUSE_MS, note: REFUSED.code },
    ...{ learnedTokens: 1, learnedAt: START },
  });
  runtime.troubles.disprove(account.name, START + PAUSE_MS);
  await poll(runtime, lease);
  const [row] = (await store.probe(1, START)).ledgers;
  expect(row).toMatchObject({ blockedUntil: 0, learnedTokens: null });
});

test("a key that is refused again pauses the account, although its longer pause was disproved here", async () => {
  const { runtime, account, lease } = await submitted({ blockedUntil: START + 60 * MINUTE, note: REFUSED.code });
  runtime.troubles.disprove(account.name, START + 60 * MINUTE);
  await lease.write({ ledgers: [closedByAnswer(account.name, START + PAUSE_MS, REFUSED.code)] });
  expect((await runtime.ledgers()).get(account.name)).toMatchObject({
    blockedUntil: START + PAUSE_MS,
    note: REFUSED.code,
  });
});

test("a limit that an earlier batch meets does not end the pause of a refused key", async () => {
  const paused = { blockedUntil: START + PAUSE_MS, note: REFUSED.code };
  const { runtime, account, lease, other } = await submitted(paused);
  const ledgers = await runtime.ledgers();
  const ledger = ledgers.get(account.name) ?? null;
  await applyPlan(runtime, other, afterBatchFailure(batchCase(other.batch, START, { ledger }), FULL), ledgers);
  await poll(runtime, lease);
  expect((await runtime.ledgers()).get(account.name)).toMatchObject(paused);
});

test.each([
  ["earlier", START + MINUTE, START + PAUSE_MS],
  ["later", START + 4 * PAUSE_MS, START + 4 * PAUSE_MS],
])("a refused key replaces a limit that another process has just met, which ends %s", async (_name, at, until) => {
  const { store, runtime, account, lease, pauses } = await submitted({});
  meanwhile(store, { name: account.name, blockedUntil: at, strikes: 3, note: "token_limit" });
  const refused = plan("sealed", START + PAUSE_MS, {
    lastError: REFUSED,
    pauseAccountUntil: START + PAUSE_MS,
    isKeyRefused: true,
  });
  await applyPlan(runtime, lease, refused, await runtime.ledgers());
  const row = { blockedUntil: until, strikes: 0, note: REFUSED.code };
  expect((await runtime.ledgers()).get(account.name)).toMatchObject(row);
  expect(pauses).toMatchObject([{ code: REFUSED.code, until: START + PAUSE_MS }]);
});

test("a limit that is met while a key is refused changes nothing and emits no event", async () => {
  const { store, runtime, account, lease, pauses } = await submitted({});
  const key = { name: account.name, blockedUntil: START + PAUSE_MS, strikes: 0, note: REFUSED.code };
  const ledgers = await runtime.ledgers();
  const ledger = ledgers.get(account.name) ?? null;
  const full = afterBatchFailure(batchCase(lease.batch, START, { ledger }), FULL);
  meanwhile(store, key);
  await applyPlan(runtime, lease, full, ledgers);
  expect((await runtime.ledgers()).get(account.name)).toMatchObject(key);
  expect(pauses).toEqual([]);
});

/** What follows for a batch of one request that is refused as a whole, in an outage. */
const outagePlan = (batch: BatchRow) =>
  afterWholeFailure(
    {
      batch: { ...batch, wholeFailures: 1, firstRefusedAt: START - 1 },
      evidence: { ...NO_EVIDENCE, outage: { ...outage, probe: batch.key } },
      now: START,
    },
    { code: "batch_failed", message: "No." },
    false,
  );

test("an outage is not written over a key that another process has just seen refused", async () => {
  const { store, runtime, account, lease, pauses, told } = await submitted({});
  const key = { name: account.name, blockedUntil: START + PAUSE_MS, note: REFUSED.code };
  const refused = outagePlan(lease.batch);
  meanwhile(store, key);
  const isWritten = await applyPlan(runtime, lease, refused, await runtime.ledgers());
  tellOfRefusal(runtime, lease.batch, refused, isWritten, "create");
  expect((await runtime.ledgers()).get(account.name)).toMatchObject({ ...key, outage: null });
  expect([pauses, told]).toEqual([[], []]);
});

test("an account that breaks off a pass for its rate keeps the pause of a key refused meanwhile", async () => {
  const key = { name: "sim", blockedUntil: START + PAUSE_MS, strikes: 0, note: REFUSED.code };
  const rate = { kind: "rateLimited", code: "rate_limit", message: "Slow.", retryAfterMs: MINUTE } as const;
  const place: { store?: Store } = {};
  const { store, runtime, account, lease, pauses } = await submitted(
    {},
    {
      classify: () => rate,
      // biome-ignore lint/correctness/useYield: the pass ends before its first line.
      async *execute() {
        await place.store?.transition(keyOf(1), 1, { ledgers: [key] }, START);
        throw new Error("429");
      },
    },
  );
  place.store = store;
  key.name = account.name;
  await execute(runtime, lease, () => {});
  expect((await runtime.ledgers()).get(account.name)).toMatchObject(key);
  expect(pauses).toEqual([]);
});

test.each([
  ["of one request", 1],
  ["of several requests", 3],
])("a batch %s that may probe an outage waits where a key is refused before it is sent", async (_name, requests) => {
  const { store, runtime, account, lease } = await submitted({ outage: outageText({ ...outage, holdUntil: START }) });
  await lease.write({ state: "collecting" });
  const [row] = await store.batches({ keys: [keyOf(0)], limit: 1 });
  const sealed = new Lease(
    runtime,
    account,
    { ...(row as BatchRow), state: "sealed", requests },
    runtime.clock.monotonic(),
  );
  meanwhile(store, { name: account.name, blockedUntil: START + PAUSE_MS, strikes: 0, note: REFUSED.code });
  expect(await passesGate(runtime, sealed)).toBe(false);
  expect((await store.batches({ keys: [keyOf(0)], limit: 1 }))[0]?.disposal).toBe(null);
});

test("a pause whose answer the store loses is written once, and its event comes", async () => {
  const { clock, store, runtime, account, lease, pauses } = await submitted({});
  const ledgers = await runtime.ledgers();
  const ledger = ledgers.get(account.name) ?? null;
  const full = afterBatchFailure(batchCase(lease.batch, START, { ledger }), FULL);
  losesAnswer(store);
  const isWritten = applyPlan(runtime, lease, full, ledgers);
  await clock.advance(MINUTE / 12);
  expect(await isWritten).toBe(true);
  expect(pauses).toMatchObject([{ code: FULL.code, until: START + 5 * MINUTE }]);
});

test("an outage whose answer the store loses is reported", async () => {
  const { clock, store, runtime, lease, told } = await submitted({});
  const refused = outagePlan(lease.batch);
  losesAnswer(store);
  const isWritten = applyPlan(runtime, lease, refused, await runtime.ledgers());
  await clock.advance(MINUTE / 12);
  tellOfRefusal(runtime, lease.batch, refused, await isWritten, "create");
  expect(told.map(String)).toEqual([expect.stringMatching("lost answer"), expect.stringMatching(/It is paused until/)]);
});

test("a pass that breaks off for its rate reports its pause where the store loses the answer", async () => {
  const rate = { kind: "rateLimited", code: "rate_limit", message: "Slow.", retryAfterMs: MINUTE } as const;
  const place: { store?: Store } = {};
  const { clock, store, runtime, lease, pauses } = await submitted(
    {},
    {
      classify: () => rate,
      // biome-ignore lint/correctness/useYield: the pass ends before its first line.
      async *execute() {
        losesAnswer(place.store as Store);
        throw new Error("429");
      },
    },
  );
  place.store = store;
  const run = execute(runtime, lease, () => {});
  await clock.advance(MINUTE / 12);
  await run;
  expect(pauses).toMatchObject([{ code: rate.code, until: START + MINUTE }]);
});

test("a pass that breaks off for its rate pauses an account whose earlier pause is disproved here", async () => {
  const rate = { kind: "rateLimited", code: "rate_limit", message: "Slow.", retryAfterMs: 30 * MINUTE } as const;
  const { store, runtime, account, lease } = await submitted(
    { blockedUntil: START + PAUSE_MS, note: REFUSED.code },
    {
      classify: () => rate,
      // biome-ignore lint/correctness/useYield: the pass ends before its first line.
      async *execute() {
        throw new Error("429");
      },
    },
  );
  runtime.troubles.disprove(account.name, START + PAUSE_MS);
  await execute(runtime, lease, () => {});
  const [row] = (await store.probe(1, START)).ledgers;
  expect(row).toMatchObject({ blockedUntil: START + 30 * MINUTE, note: rate.code });
});
