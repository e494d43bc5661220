// A table over all orders of three answers to the creates of one batch: each failure is counted
// where it belongs, and none makes the batch forget another.

import { expect, test } from "vitest";
import { afterSubmitFailure } from "../../../../src/dispatch/batches/submit/after-failure.ts";
import { evidenceOn } from "../../../../src/dispatch/batches/submit/competing-batches.ts";
import type { Failure } from "../../../../src/dispatch/contract/failures.ts";
import type { BatchRow } from "../../../../src/dispatch/contract/store/rows.ts";
import { resolveOptions } from "../../../../src/dispatch/options/resolve-options.ts";
import { Runtime } from "../../../../src/dispatch/runtime/runtime.ts";
import { memoryStore } from "../../../../src/dispatch/stores/memory/memory-store.ts";
import { virtualClock } from "../../../../src/testing/index.ts";
import { batchCase, batchRow, SEALED_AT } from "../../support/rows.ts";
import { SimProvider } from "../../support/simulation/sim-provider.ts";

const words = { code: "c", message: "m" };
const ANSWERS: Readonly<Record<string, Failure>> = {
  refused: { kind: "invalidRequest", ...words, lines: [] },
  "429": { kind: "rateLimited", ...words, retryAfterMs: null },
  "401": { kind: "authOrBilling", ...words },
  "not sent": { kind: "definitelyNotCreated", ...words },
  "no answer": { kind: "unknown", ...words },
  pending: { kind: "definitelyNotCreated", ...words, filePending: true },
  full: { kind: "tokenLimit", ...words, limitTokens: null },
};

const names = Object.keys(ANSWERS);
const orders = names.flatMap((first) => names.flatMap((second) => names.map((third) => [first, second, third])));

test.each(orders)("%s, %s, %s", (...order) => {
  let batch: BatchRow = batchRow({ state: "submitting", submitAttempt: 1, submitStartedAt: SEALED_AT });
  const kinds: string[] = [];
  order.forEach((name, index) => {
    const at = SEALED_AT + (index + 1) * 60_000;
    const failure = ANSWERS[name] as Failure;
    const { figures, disposal } = afterSubmitFailure(batchCase(batch, at), failure, "create");
    batch = { ...batch, ...figures };
    kinds.push(disposal?.kind ?? "again");
  });
  const times = (...wanted: string[]): number[] =>
    order.flatMap((name, index) => (wanted.includes(name) ? [SEALED_AT + (index + 1) * 60_000] : []));
  const [refusals, tries] = [times("refused"), times("not sent", "no answer")];
  expect(batch).toMatchObject({
    ...{ wholeFailures: refusals.length, tries: tries.length },
    ...{ firstRefusedAt: refusals[0] ?? null, lastRefusedAt: refusals.at(-1) ?? null },
    ...{ triesSince: tries.length > 0 ? SEALED_AT : null, filePendingSince: times("pending")[0] ?? null },
  });
  // Without proof no order of answers blames the batch.
  expect(kinds.filter((kind) => kind !== "again" && kind !== "canary")).toEqual([]);
});

/** What the answers do to a batch. Another batch of its lane was sent at `sentAt` and taken. */
async function dispositions(order: readonly string[], sentAt: number): Promise<readonly string[]> {
  const clock = virtualClock(SEALED_AT);
  const account = new SimProvider({ time: clock }).account();
  const of = { account: account.name, ledger: account.name };
  const other = batchRow({ key: "OTHER", ...of, state: "done", providerBatchId: "p", submitStartedAt: sentAt });
  const store = Object.assign(memoryStore(), { batches: async () => [other] });
  const runtime = new Runtime(resolveOptions({ store, accounts: [account], clock }));
  let batch: BatchRow = batchRow({ ...of, state: "submitting", submitAttempt: 1 });
  const kinds: string[] = [];
  for (const [index, name] of order.entries()) {
    const at = SEALED_AT + (index + 1) * 60_000;
    const failure = ANSWERS[name] as Failure;
    batch = { ...batch, submitStartedAt: at - 1_000 };
    const evidence =
      failure.kind === "unknown" ? {} : { evidence: await evidenceOn(runtime, batch, failure, new Map()) };
    const { figures, disposal } = afterSubmitFailure(batchCase(batch, at, evidence), failure, "create");
    batch = { ...batch, ...figures };
    kinds.push(disposal?.kind ?? "again");
  }
  return kinds;
}

test.each(orders)("%s, %s, %s blame no batch if its lane took another one before them", async (...order) => {
  const kinds = await dispositions(order, SEALED_AT + 30_000);
  expect(kinds.filter((kind) => kind !== "again" && kind !== "canary")).toEqual([]);
});

test.each(orders)("%s, %s, %s blame a batch if its lane took another one between its refusals", async (...order) => {
  const [first, second, third] = order;
  const isBlamed = third === "refused" && (first === "refused" || second === "refused");
  const kinds = await dispositions(order, SEALED_AT + 150_000);
  expect(kinds[2] === "split").toBe(isBlamed);
});
