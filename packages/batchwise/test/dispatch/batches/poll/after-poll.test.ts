// Table: what happens to a batch after a poll.

import { describe, expect, test } from "vitest";
import { afterPoll } from "../../../../src/dispatch/batches/poll/after-poll.ts";
import { PAUSE_MS } from "../../../../src/dispatch/batches/submit/after-failure.ts";
import type { ProviderBatch } from "../../../../src/dispatch/contract/account.ts";
import type { BatchRow } from "../../../../src/dispatch/contract/store/rows.ts";
import { batchCase, batchRow, SEALED_AT } from "../../support/rows.ts";

const NOW = SEALED_AT + 10_000;
const submitting = batchRow({
  state: "submitting",
  submitAttempt: 1,
  submitStartedAt: NOW - 1_000,
  providerFileId: "f",
});
const running = { ...submitting, state: "running", providerBatchId: "b", pollMs: 30_000 } as const;
const CREDIT = { kind: "authOrBilling", code: "no_credit", message: "Your credit is used up." } as const;
const LATE = NOW + 3_600_000;

function seen(changes: Partial<ProviderBatch>): ProviderBatch {
  const none = { expiresAt: null, tag: null, inputFileId: null, total: null, settled: null, failure: null };
  return { id: "b", state: "running", rawState: "in_progress", createdAt: NOW, resultRefs: [], ...none, ...changes };
}

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
      "failed that has run some is collected, although no results are named yet",
      seen({ state: "failed", total: 10, settled: 4, ran: 4 }),
      { state: "collecting", forget: false },
    ],
    [
      "failed for credit once some had run is collected, and pauses the account",
      seen({ state: "failed", total: 10, settled: 4, ran: 4, failure: CREDIT }),
      {
        state: "collecting",
        forget: false,
        pauseAccountUntil: NOW + PAUSE_MS,
        isKeyRefused: true,
        lastError: { code: "no_credit" },
      },
    ],
    [
      "being cancelled for credit pauses the account, too",
      seen({ state: "cancelling", failure: CREDIT }),
      { state: "running", pauseAccountUntil: NOW + PAUSE_MS, isKeyRefused: true },
    ],
    [
      "failed without a reason is a whole failure",
      seen({ state: "failed" }),
      { state: "sealed", figures: { wholeFailures: 1 }, forget: true },
    ],
    ["waits grow", seen({}), { state: "running", figures: { pollMs: 45_000 }, nextAt: NOW + 45_000 }],
    ["waits shrink near the end", seen({ total: 10, settled: 9 }), { figures: { pollMs: 30_000 } }],
    ["validating stays as it was", seen({ state: "validating" }), { state: "running" }],
    ["a fresh one may not be listed yet", null, { state: "running", nextAt: NOW + 30_000 }],
  ] as const)("%s", (_name, provider, expected) => {
    expect(afterPoll(batchCase(running, NOW), provider)).toMatchObject(expected);
  });

  test.each([
    ["near the end wait a hundredth of the age", 2, seen({ total: 10, settled: 9 }), 72_000],
    ["near the end wait no longer than others", 20, seen({ total: 10, settled: 9 }), 300_000],
    ["of a batch in its time wait five minutes at most", 20, seen({}), 300_000],
    ["of a batch that should have ended wait ever longer", 30, seen({ total: 10, settled: 9 }), 450_000],
  ] as const)("polls %s", (_name, hours, provider, pollMs) => {
    const now = NOW - 1_000 + hours * 3_600_000;
    expect(afterPoll(batchCase({ ...running, pollMs: 300_000 }, now), provider).figures).toMatchObject({
      pollMs,
    });
  });

  test("a reason comes before result files, and files before a failure without a reason", () => {
    const failure = { kind: "tokenLimit", code: "token_limit_exceeded", message: "Full.", limitTokens: null } as const;
    const failed = (changes: Partial<ProviderBatch>) =>
      afterPoll(batchCase(running, NOW), seen({ state: "failed", resultRefs: ["x", "y"], ...changes }));
    expect(failed({ failure })).toMatchObject({ state: "waiting_capacity", forget: true });
    expect(failed({})).toMatchObject({ state: "collecting", forget: false, disposal: null });
  });

  test("puts a batch aside that the provider has lost: after six looks in ten minutes, not after one", () => {
    let batch: BatchRow = running;
    const seenAt: number[] = [];
    for (let now = LATE; now < LATE + 3_600_000; ) {
      const plan = afterPoll(batchCase(batch, now), null);
      seenAt.push((now - LATE) / 60_000);
      if (plan.state === "quarantined") break;
      batch = { ...batch, ...plan.figures };
      now = plan.nextAt;
    }
    expect(seenAt).toEqual([0, 2, 4, 6, 8, 10]);
  });

  test("that finds the batch again forgets the looks before", () => {
    const lost = afterPoll(batchCase(running, LATE), null);
    const found = afterPoll(batchCase({ ...running, ...lost.figures }, LATE), seen({}));
    expect([lost.figures.lostLooks, found.figures.lostLooks, found.lastError]).toEqual([1, 0, null]);
  });
});
