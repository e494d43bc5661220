// Tables over what becomes of a batch when a create fails, a poll answers, or the provider fails the whole of it.

import { describe, expect, test } from "vitest";
import { isLegal } from "../../src/dispatch/life-cycle.ts";
import { afterBatchFailure, afterPoll, afterSubmitFailure, backoff, splitGroup } from "../../src/dispatch/plans.ts";
import type { Failure, ProviderBatch } from "../../src/dispatch/provider.ts";
import type { LedgerRow } from "../../src/dispatch/rows.ts";
import { batchRow, SEALED_AT, stepAccount } from "./rows.ts";

const NOW = SEALED_AT + 10_000;
const words = { code: "c", message: "m" };
const submitting = batchRow({
  state: "submitting",
  submitAttempt: 1,
  submitStartedAt: NOW - 1_000,
  providerFileId: "f",
});
const running = { ...submitting, state: "running", providerBatchId: "b", pollMs: 30_000 } as const;
const LATE = NOW + 3_600_000;

function seen(changes: Partial<ProviderBatch>): ProviderBatch {
  const none = { expiresAt: null, tag: null, inputFileId: null, total: null, settled: null, failure: null };
  return { id: "b", state: "running", rawState: "in_progress", createdAt: NOW, resultRefs: [], ...none, ...changes };
}

function ledger(changes: Partial<LedgerRow>): LedgerRow {
  const booked = { tokens: 0, requests: 0, batches: 0, learnedTokens: null, learnedAt: null };
  return { name: "l", ...booked, blockedUntil: 0, strikes: 0, note: null, ...changes };
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
      { state: "sealed", pauseAccountUntil: NOW + 900_000 },
    ],
    [
      "a capacity limit waits",
      { kind: "tokenLimit", ...words, limitTokens: 500 },
      {
        state: "waiting_capacity",
        nextAt: NOW + 300_000,
        ledger: { learnedTokens: 500, strikes: 1, blockedUntil: NOW + 300_000 },
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
      { state: "sealed", wholeFailures: 1, disposal: null },
    ],
  ] as const)("%s", (_name, failure, expected) => {
    const plan = afterSubmitFailure(submitting, failure, "create", stepAccount(), null, NOW);
    expect(plan).toMatchObject(expected);
    expect(plan.forget).toBe(false);
    expect(isLegal("submitting", plan.state)).toBe(true);
  });

  test("an upload of unknown outcome is simply tried again", () => {
    const failure: Failure = { kind: "unknown", ...words };
    expect(afterSubmitFailure(submitting, failure, "upload", stepAccount(), null, NOW)).toMatchObject({
      state: "sealed",
    });
  });
});

describe("a batch that failed as a whole", () => {
  const refused: Failure = { kind: "invalidRequest", ...words, lines: [] };

  test("is sent once more, then halved, then its last request refused", () => {
    expect(afterBatchFailure(running, refused, null, NOW)).toMatchObject({
      state: "sealed",
      wholeFailures: 1,
      forget: true,
      dropFile: true,
    });
    const again = { ...running, wholeFailures: 1 };
    expect(afterBatchFailure(again, refused, null, NOW).disposal).toEqual({ kind: "split", error: words });
    expect(afterBatchFailure({ ...again, requests: 1 }, refused, null, NOW).disposal).toEqual({
      kind: "refuse",
      error: words,
    });
  });

  test("is halved at once where it is a part of a split one", () => {
    const part = { ...running, lane: "/v1/embeddings 01ABC.a m" };
    expect(afterBatchFailure(part, { kind: "unknown", ...words }, null, NOW).disposal?.kind).toBe("split");
  });

  test("learns the lowest limit and waits longer with each refusal", () => {
    const failure: Failure = { kind: "tokenLimit", ...words, limitTokens: 900 };
    const plan = afterBatchFailure(running, failure, ledger({ strikes: 2, learnedTokens: 800 }), NOW);
    expect(plan).toMatchObject({
      forget: true,
      ledger: { learnedTokens: 800, strikes: 3, blockedUntil: NOW + 1_200_000 },
    });
  });

  test("does not wait for ever under a limit that nobody names", () => {
    const failure: Failure = { kind: "tokenLimit", ...words, limitTokens: null };
    const at = (submitAttempt: number, requests: number) =>
      afterBatchFailure({ ...running, submitAttempt, requests }, failure, null, NOW).disposal?.kind ?? "waits";
    expect([at(5, 10), at(6, 10), at(11, 1), at(12, 1)]).toEqual(["waits", "split", "waits", "refuse"]);
  });

  test("splits into two groups that never share a batch", () => {
    const odd = batchRow({ requests: 3 });
    expect([0, 1, 2].map((ord) => splitGroup(odd, ord))).toEqual([`${odd.key}.a`, `${odd.key}.a`, `${odd.key}.b`]);
  });
});

describe("a poll", () => {
  test.each([
    ["done is collected", seen({ state: "done" }), { state: "collecting" }],
    ["expired is collected", seen({ state: "expired" }), { state: "collecting" }],
    ["cancelled is collected", seen({ state: "cancelled" }), { state: "collecting" }],
    [
      "failed with results is collected",
      seen({ state: "failed", resultRefs: ["x"] }),
      { state: "collecting", disposal: null },
    ],
    [
      "failed without a reason is a whole failure",
      seen({ state: "failed" }),
      { state: "sealed", wholeFailures: 1, forget: true },
    ],
    ["waits grow", seen({}), { state: "running", pollMs: 45_000, nextAt: NOW + 45_000 }],
    ["waits shrink near the end", seen({ total: 10, settled: 9 }), { pollMs: 30_000 }],
    ["validating stays as it was", seen({ state: "validating" }), { state: "running" }],
    ["a fresh one may not be listed yet", null, { state: "running", nextAt: NOW + 30_000 }],
  ] as const)("%s", (_name, provider, expected) => {
    expect(afterPoll(running, provider, stepAccount(), null, NOW)).toMatchObject(expected);
  });

  test("puts a batch aside that the provider has lost", () => {
    expect(afterPoll(running, null, stepAccount(), null, LATE).state).toBe("quarantined");
  });
});

test("waits double from the first to the most", () => {
  expect([0, 1, 2, 3, 60].map((count) => backoff(5, 40, count))).toEqual([5, 5, 10, 20, 40]);
});
