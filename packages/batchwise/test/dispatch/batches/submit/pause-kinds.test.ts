// Only a refused key (or its money, its address) closes an account: every other pause is written
// where nothing has paused the account since its row was read.

import { expect, test } from "vitest";
import { applyPlan } from "../../../../src/dispatch/batches/apply-plan.ts";
import { NO_EVIDENCE } from "../../../../src/dispatch/batches/batch-case.ts";
import type { Plan } from "../../../../src/dispatch/batches/plan.ts";
import { afterSubmitFailure, PAUSE_MS } from "../../../../src/dispatch/batches/submit/after-failure.ts";
import { afterFailedRepeat } from "../../../../src/dispatch/batches/submit/after-repeat.ts";
import { preferFreeAccount } from "../../../../src/dispatch/batches/submit/competing-batches.ts";
import { tellOfRefusal } from "../../../../src/dispatch/batches/submit/tell-of-refusal.ts";
import type { Failure } from "../../../../src/dispatch/contract/failures.ts";
import { parseLane, urgentLane } from "../../../../src/dispatch/format/encode.ts";
import type { Lease } from "../../../../src/dispatch/runtime/lease/lease.ts";
import type { Runtime } from "../../../../src/dispatch/runtime/runtime.ts";
import { meanwhile, submitted } from "../../support/paused-account.ts";
import { batchCase } from "../../support/rows.ts";
import { START } from "../../support/world.ts";

const MINUTE = 60_000;
const RATE: Failure = { kind: "rateLimited", code: "rate_limit", message: "Slow.", retryAfterMs: 5_000 };
const LIMIT = { blockedUntil: START + 60 * MINUTE, strikes: 4, note: "token_limit" };
const KEY = { blockedUntil: START + PAUSE_MS, strikes: 0, note: "invalid_api_key" };

/** The plan after an urgent batch has met `failure` at a fallback account. */
async function urgentPlan(runtime: Runtime, { batch, account }: Lease, failure: Failure): Promise<Plan> {
  const ledgers = await runtime.ledgers();
  const urgent = { ...batch, lane: urgentLane(parseLane(batch.lane)), providerBatchId: null };
  const ledger = ledgers.get(account.name) ?? null;
  const decided = afterSubmitFailure(batchCase(urgent, START, { ledger, account }), failure, "create");
  return preferFreeAccount(runtime, urgent, decided, ledgers);
}

test.each([
  ["a used-up limit", LIMIT],
  ["a refused key", KEY],
])("a rate limit of an urgent batch changes nothing of the later pause of %s", async (_name, row) => {
  const { runtime, account, lease, pauses } = await submitted(row);
  const plan = await urgentPlan(runtime, lease, RATE);
  expect(plan).toMatchObject({ state: "collecting", disposal: { kind: "requeue" } });
  await applyPlan(runtime, lease, plan, await runtime.ledgers());
  expect((await runtime.ledgers()).get(account.name)).toMatchObject(row);
  expect(pauses).toEqual([]);
});

test.each([
  ["a used-up limit", LIMIT],
  ["a refused key", KEY],
])("nor of the pause of %s that another process writes meanwhile", async (_name, row) => {
  const { store, runtime, account, lease, pauses } = await submitted({});
  const plan = await urgentPlan(runtime, lease, RATE);
  meanwhile(store, { name: account.name, ...row });
  await applyPlan(runtime, lease, plan, await runtime.ledgers());
  expect((await runtime.ledgers()).get(account.name)).toMatchObject(row);
  expect(pauses).toEqual([]);
});

test("a rate limit of an urgent batch pauses a free account for as long as it says", async () => {
  const { runtime, account, lease, pauses } = await submitted({});
  await applyPlan(runtime, lease, await urgentPlan(runtime, lease, RATE), await runtime.ledgers());
  const pausedUntil = START + 5_000;
  expect((await runtime.ledgers()).get(account.name)).toMatchObject({ blockedUntil: pausedUntil, note: RATE.code });
  expect(pauses).toMatchObject([{ until: pausedUntil, code: RATE.code }]);
});

test("an outage that a repeated create meets leaves a key that is refused meanwhile, and is not reported", async () => {
  const { store, runtime, account, lease, pauses, told } = await submitted({});
  const batch = { ...lease.batch, providerBatchId: null, wholeFailures: 1, firstRefusedAt: START - 1 };
  const outage = { code: "batch_failed", since: START - 1, pauses: 1, probe: batch.key, holdUntil: START };
  const at = batchCase(batch, START, { account, evidence: { ...NO_EVIDENCE, outage } });
  const refused = { kind: "invalidRequest", code: "batch_failed", message: "No.", lines: [] } as const;
  const plan = afterFailedRepeat(at, refused, "create");
  expect(plan).toMatchObject({ outage: null, pauseAccountUntil: START + 10 * MINUTE });
  meanwhile(store, { name: account.name, ...KEY });
  const isWritten = await applyPlan(runtime, lease, plan, await runtime.ledgers());
  tellOfRefusal(runtime, batch, plan, isWritten, "create");
  expect((await runtime.ledgers()).get(account.name)).toMatchObject(KEY);
  expect([pauses, told]).toEqual([[], []]);
});
