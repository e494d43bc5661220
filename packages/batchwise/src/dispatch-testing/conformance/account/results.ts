// Cases on the end of a batch: complete results, partial results, and cancels.

import { deepEqual, equal, ok } from "node:assert/strict";
import type { ProviderBatch, ResultLine } from "../../../dispatch/contract/account.ts";
import { fakeFaults } from "../../fake/presets.ts";
import { type AccountCase, accountCase, call, collect, failure, HOUR, MINUTE, names, submit } from "./case.ts";

const SLOW_DOWN = { type: "rate_limit_error", code: "rate_limit_exceeded", message: "Slow down." };

/** Asserts an empty batch. `ran` counts the lines that will come, so it must be 0. */
function isEmpty(batch: ProviderBatch | null, lines: readonly ResultLine[]): void {
  deepEqual([batch?.resultRefs, batch?.ran ?? null, lines], [[], null, []]);
}

/**
 * Asserts that each request that did not run has a line with this code, or has no line if the
 * provider writes none.
 */
function notRun(lines: readonly ResultLine[], count: number, code: string): void {
  const rest = lines.filter(({ error }) => error !== null);
  if (rest.length === 0) return;
  deepEqual(lines.map(({ customId }) => customId).sort(), names(10));
  deepEqual(
    rest.map(({ response, error }) => [response, error?.code]),
    new Array(count).fill([null, code]),
  );
}

/** Some clients do not report a lost connection; then the wait ends after this time. */
const SOON_MS = 1_000;

export const resultCases: readonly AccountCase[] = [
  accountCase("rejects when a download is cut, and reads it whole the next time", async ({ fake, clock, account }) => {
    const created = await submit(account, 30);
    await clock.advance(HOUR);
    const done = await account.retrieve(created.id, call());
    fake.inject(fakeFaults.cutDownload);
    await failure(collect(account, done, { ...call(), timeoutMs: SOON_MS }));
    equal((await collect(account, done)).length, 30);
  }),

  accountCase(
    "gives the results of lines that ran, and an expiry for the others",
    async ({ clock, account, windowMs = 24 * HOUR, endsEmpty = false, neverExpires = false }) => {
      const created = await submit(account, 10);
      await clock.advance(windowMs);
      const expired = await account.retrieve(created.id, call());
      if (neverExpires) {
        deepEqual([expired?.state, expired?.resultRefs], ["running", []]);
        return;
      }
      equal(expired?.state, "expired");
      const lines = await collect(account, expired);
      if (endsEmpty) {
        isEmpty(expired, lines);
        return;
      }
      equal(lines.filter(({ error }) => error === null).length, 4);
      notRun(lines, 6, "batch_expired");
    },
    { plan: { runMs: 96 * HOUR, expiredShare: 0.4 } },
  ),

  accountCase("cancels, and gives the results of lines that ran", async ({ clock, account, endsEmpty = false }) => {
    const created = await submit(account, 10);
    await clock.advance(11 * MINUTE);
    equal((await account.cancel(created.id, call())).state, "cancelling");
    await clock.advance(2 * MINUTE);
    const cancelled = await account.retrieve(created.id, call());
    equal(cancelled?.state, "cancelled");
    const lines = await collect(account, cancelled);
    if (endsEmpty) {
      isEmpty(cancelled, lines);
      return;
    }
    equal(lines.filter(({ error }) => error === null).length, 5);
    notRun(lines, 5, "batch_cancelled");
  }),

  accountCase("accepts the cancel of a batch whose results are being written", async ({ clock, account }) => {
    const created = await submit(account, 2);
    await clock.advance(21 * MINUTE);
    const { state } = await account.cancel(created.id, call());
    ok(state !== "validating" && state !== "running", `expected a batch that will end, got "${state}"`);
  }),

  accountCase("accepts the cancel of an ended batch", async ({ clock, account }) => {
    const created = await submit(account, 2);
    await clock.advance(HOUR);
    equal((await account.cancel(created.id, call())).state, "done");
  }),

  accountCase(
    "gives a failed item with its status, code and message",
    async ({ clock, account }) => {
      const created = await submit(account, 1);
      await clock.advance(HOUR);
      const [line] = await collect(account, await account.retrieve(created.id, call()));
      deepEqual([line?.response?.statusCode, line?.error?.message, line?.usage], [429, "Slow down.", null]);
      deepEqual((line?.response?.body.error as typeof SLOW_DOWN | undefined)?.message, "Slow down.");
    },
    { answer: () => ({ status: 429, body: { error: SLOW_DOWN } }) },
  ),

  accountCase(
    "passes on missing and repeated lines as they come",
    async ({ clock, account }) => {
      const created = await submit(account, 5);
      await clock.advance(HOUR);
      const lines = await collect(account, await account.retrieve(created.id, call()));
      deepEqual([lines.length, new Set(lines.map(({ customId }) => customId)).size], [4, 3]);
    },
    { plan: { missingLines: 2, duplicateLines: 1 } },
  ),
];
