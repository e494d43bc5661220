// Tables: what happens to a batch when an upload or create fails, or the provider fails it as a
// whole.

import { describe, expect, test } from "vitest";
import { isLegal } from "../../../../src/dispatch/batches/life-cycle.ts";
import { partGroup, partOf } from "../../../../src/dispatch/batches/parts.ts";
import {
  afterAbsence,
  afterBatchFailure,
  afterSubmitFailure,
} from "../../../../src/dispatch/batches/submit/after-failure.ts";
import { pauseAfter } from "../../../../src/dispatch/batches/submit/retry-policy.ts";
import type { Failure } from "../../../../src/dispatch/contract/failures.ts";
import type { LedgerRow } from "../../../../src/dispatch/contract/store/ledger-rows.ts";
import type { BatchRow } from "../../../../src/dispatch/contract/store/rows.ts";
import { batchCase, batchRow, SEALED_AT, stepAccount } from "../../support/rows.ts";

const NOW = SEALED_AT + 10_000;
const words = { code: "c", message: "m" };
const submitting = batchRow({
  state: "submitting",
  submitAttempt: 1,
  submitStartedAt: NOW - 1_000,
  providerFileId: "f",
});
const running = { ...submitting, state: "running", providerBatchId: "b", pollMs: 30_000 } as const;

function ledger(changes: Partial<LedgerRow>): LedgerRow {
  const booked = { tokens: 0, requests: 0, batches: 0, learnedTokens: null, learnedAt: null };
  return { name: "l", ...booked, blockedUntil: 0, strikes: 0, note: null, outage: null, ...changes };
}

describe("a create that did not succeed", () => {
  test.each([
    ["unknown waits for a look", { kind: "unknown", ...words }, { state: "unknown", nextAt: NOW + 5_000 }],
    ["refused goes back", { kind: "definitelyNotCreated", ...words }, { state: "sealed", nextAt: NOW + 5_000 }],
    [
      "a rate limit is obeyed",
      { kind: "rateLimited", ...words, retryAfterMs: 7 },
      { state: "sealed", nextAt: NOW + 7 },
    ],
    [
      "no money pauses the account",
      { kind: "authOrBilling", ...words },
      { state: "sealed", pauseAccountUntil: NOW + 900_000, isKeyRefused: true },
    ],
    [
      "a capacity limit waits",
      { kind: "tokenLimit", ...words, limitTokens: 500 },
      {
        state: "waiting_capacity",
        nextAt: NOW + 300_000,
        ledger: { learnedTokens: 500, pause: { strikes: 1, blockedUntil: NOW + 300_000 } },
      },
    ],
    [
      "over the limit alone, it dissolves",
      { kind: "tokenLimit", ...words, limitTokens: 499 },
      { state: "collecting", disposal: { kind: "requeue", code: "c" } },
    ],
    [
      "blamed lines go alone",
      { kind: "invalidRequest", ...words, lines: [{ line: 3, ...words }] },
      { state: "collecting", disposal: { kind: "faults", lines: [{ line: 3, ...words }] } },
    ],
    [
      "a line that it does not have blames nobody",
      { kind: "invalidRequest", ...words, lines: [{ line: 11, ...words }] },
      { state: "sealed", figures: { wholeFailures: 1 }, disposal: null },
    ],
  ] as const)("%s", (_name, failure, expected) => {
    const plan = afterSubmitFailure(batchCase(submitting, NOW), failure, "create");
    expect(plan).toMatchObject(expected);
    expect(plan.forget).toBe(false);
    expect(isLegal("submitting", plan.state)).toBe(true);
  });

  test("an upload of unknown outcome is simply tried again", () => {
    const failure: Failure = { kind: "unknown", ...words };
    expect(afterSubmitFailure(batchCase(submitting, NOW), failure, "upload")).toMatchObject({
      state: "sealed",
    });
  });
});

describe("a batch that failed as a whole", () => {
  const refused: Failure = { kind: "invalidRequest", ...words, lines: [] };

  test("is sent once more before anything else", () => {
    expect(afterBatchFailure(batchCase(running, NOW), refused)).toMatchObject({
      state: "sealed",
      figures: { wholeFailures: 1 },
      forget: true,
      dropFile: true,
    });
  });

  test("learns the limit of the last refusal and waits longer with each", () => {
    const failure: Failure = { kind: "tokenLimit", ...words, limitTokens: 900 };
    const plan = afterBatchFailure(
      batchCase(running, NOW, { ledger: ledger({ strikes: 2, learnedTokens: 800 }) }),
      failure,
    );
    expect(plan).toMatchObject({
      forget: true,
      ledger: { learnedTokens: 900, pause: { strikes: 3, blockedUntil: NOW + 1_200_000 } },
    });
  });

  test("is halved where a limit without a name has long refused it, but never refused for it", () => {
    const failure: Failure = { kind: "tokenLimit", ...words, limitTokens: null };
    const at = (strikes: number, ageMs: number, requests: number) => {
      const old = { ...running, createdAt: NOW - ageMs, requests, submitAttempt: 99 };
      return afterBatchFailure(batchCase(old, NOW, { ledger: ledger({ strikes }) }), failure).disposal?.kind ?? "waits";
    };
    const hours = 3_600_000;
    expect([at(4, 2 * hours, 10), at(5, hours, 10), at(5, 2 * hours, 10)]).toEqual(["waits", "waits", "split"]);
    expect(at(99, 99 * hours, 1)).toBe("waits");
  });

  test("splits into two groups that never share a batch", () => {
    const { key } = batchRow();
    expect([partGroup({ key }, "first"), partGroup({ key }, "second")]).toEqual([`${key}.a`, `${key}.b`]);
    for (const role of ["first", "second", "canary", "rest"] as const) {
      const lane = `/v1/chat/completions ${partGroup({ key }, role)} gpt-4o-mini`;
      expect(partOf({ lane })).toEqual({ whole: key, role });
    }
    expect(partOf(batchRow())).toBe(null);
  });
});

describe("attempts that come to nothing", () => {
  const after = (tries: number, changes: Partial<BatchRow> = {}): BatchRow => ({
    ...submitting,
    ...changes,
    ...{ tries, triesSince: NOW, lastError: JSON.stringify(words) },
  });
  const refused: Failure = { kind: "definitelyNotCreated", ...words };
  const end = (batch: BatchRow, othersAccepted: boolean): string => {
    const { state, disposal } = afterSubmitFailure(batchCase(batch, NOW, { othersAccepted }), refused, "create");
    return disposal?.kind ?? state;
  };

  test("halve the batch: soon where others are taken, else after more than a day", () => {
    expect([end(after(10), true), end(after(11), true)]).toEqual(["sealed", "split"]);
    expect([end(after(34), false), end(after(35), false)]).toEqual(["sealed", "split"]);
  });

  test("ends a single request after more than two days: refused where others are taken, else quarantined", () => {
    const one = { requests: 1 };
    expect([end(after(58, one), true), end(after(59, one), true)]).toEqual(["sealed", "refuse"]);
    expect([end(after(58, one), false), end(after(59, one), false)]).toEqual(["sealed", "quarantined"]);
  });

  test("take hours, a day and two days to get that far", () => {
    const hoursUntil = (count: number): number => {
      let ms = 0;
      for (let tries = 1; tries < count; tries += 1) ms += pauseAfter(tries);
      return ms / 3_600_000;
    };
    expect(hoursUntil(12)).toBeGreaterThan(2);
    expect(hoursUntil(36)).toBeGreaterThan(24);
    expect(hoursUntil(60)).toBeGreaterThan(48);
  });

  test("are counted on through refusals of other kinds in between", () => {
    const limited: Failure = { kind: "rateLimited", ...words, retryAfterMs: null };
    const plan = afterSubmitFailure(batchCase(after(5), NOW), limited, "create");
    expect([plan.lastError, plan.figures]).toEqual([words, {}]);
  });

  test("with a token are sent again after longer and longer pauses, and never taken apart", () => {
    const lost: Failure = { kind: "unknown", ...words };
    const plan = (tries: number) => {
      const account = stepAccount({ tag: "idempotencyToken" });
      return afterSubmitFailure(batchCase(after(tries), NOW, { account, othersAccepted: true }), lost, "create");
    };
    expect(plan(0)).toMatchObject({ state: "unknown", nextAt: NOW + pauseAfter(1) });
    expect(plan(58)).toMatchObject({ state: "unknown", nextAt: NOW + 3_600_000, disposal: null });
    expect(plan(59)).toMatchObject({ state: "quarantined", disposal: null });
  });

  test("are followed by a look and a pause: others of an account without tags go meanwhile", () => {
    const lost = after(10, { state: "unknown", submitStartedAt: NOW });
    const others = { othersAccepted: true };
    const plan = (tag: "metadata" | "none", now: number) =>
      afterAbsence(batchCase(lost, now, { ...others, account: stepAccount({ tag }) }));
    expect(plan("metadata", NOW + 1)).toMatchObject({ state: "unknown", nextAt: NOW + pauseAfter(10) });
    expect(plan("none", NOW + 1)).toMatchObject({ state: "sealed", nextAt: NOW + pauseAfter(10) });
    expect(plan("metadata", NOW + pauseAfter(10))).toBe(null);
    expect(afterAbsence(batchCase(after(12), NOW, others))).toMatchObject({ disposal: { kind: "split" } });
    for (const state of ["unknown", "sealed", "collecting", "quarantined"] as const) {
      expect(isLegal("unknown", state)).toBe(true);
    }
  });

  test("decide the same whatever the text of the last error says, which only the message quotes", () => {
    const told = (lastError: string | null, failedSteps = 0) => {
      const lost = { ...after(12, { state: "unknown", submitStartedAt: SEALED_AT }), lastError, failedSteps };
      return afterAbsence(batchCase(lost, NOW, { othersAccepted: true }))?.disposal;
    };
    const absent = { code: "not_created", message: "The provider has no such batch." };
    const quoted = { code: "not_created", message: "The provider has no such batch. Last error: a: Gone." };
    expect(told(null)).toEqual({ kind: "split", error: absent });
    expect(told('{"code":"a","message":"Gone."}')).toEqual({ kind: "split", error: quoted });
    expect(told('{"code":"step_failed","message":"x is not a function"}', 3)).toEqual({ kind: "split", error: absent });
  });
});
