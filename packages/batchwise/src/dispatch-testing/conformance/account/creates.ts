// Cases on failed creates: whether the batch exists, and that it is never created twice.

import { deepEqual, equal, ok } from "node:assert/strict";
import { fakeFaults } from "../../fake/presets.ts";
import { type AccountCase, accountCase, call, createOf, failure, noMoneyOf, submit } from "./case.ts";

const KINDS = [
  [400, "invalidRequest"],
  [401, "authOrBilling"],
  [403, "authOrBilling"],
  [404, "definitelyNotCreated"],
  [408, "unknown"],
  [409, "unknown"],
  [413, "invalidRequest"],
  [500, "unknown"],
  [503, "unknown"],
] as const;

export const createCases: readonly AccountCase[] = [
  accountCase("sends a create once even when the connection is lost, and calls the outcome unknown", async (rig) => {
    const { fake, account } = rig;
    const faults = [fakeFaults.acceptThenDrop, fakeFaults.rejectThenDrop, fakeFaults.errorAfterAccept];
    for (const [index, fault] of faults.entries()) {
      fake.inject(fault);
      const before = fake.calls(createOf(rig));
      const error = await failure(submit(account, 2, call(), index + 1));
      equal(fake.calls(createOf(rig)), before + 1);
      equal(account.classify(error, "create").kind, "unknown");
    }
    equal(fake.batches().length, 2);
  }),

  ...KINDS.map(([status, kind]) =>
    accountCase(`classifies an answer ${status} to a create as ${kind}`, async (rig) => {
      const { fake, account } = rig;
      fake.inject({ on: createOf(rig), accept: false, reply: { status } });
      const classified = account.classify(await failure(submit(account, 1)), "create");
      equal(classified.kind, kind);
      ok(
        classified.message.includes(`Scripted answer ${status}`),
        `the provider's words are lost: ${classified.message}`,
      );
      equal(fake.calls(createOf(rig)), 1);
    }),
  ),

  accountCase("reads how long to wait from a 429", async ({ fake, account }) => {
    fake.inject(fakeFaults.rateLimited);
    const classified = account.classify(await failure(submit(account, 1)), "create");
    ok(classified.kind === "rateLimited", `expected "rateLimited", got "${classified.kind}"`);
    equal(classified.retryAfterMs, 30_000);
  }),

  accountCase("knows when the money is gone", async (rig) => {
    const { fake, account } = rig;
    fake.inject(noMoneyOf(rig));
    equal(account.classify(await failure(submit(account, 1)), "create").kind, "authOrBilling");
  }),

  accountCase("ends a create when the signal aborts, with its result unknown", async (rig) => {
    const { fake, clock, account } = rig;
    fake.inject({ on: createOf(rig), delayMs: 90_000 });
    const giveUp = new AbortController();
    const lost = failure(submit(account, 1, { ...call(), signal: giveUp.signal, timeoutMs: 60_000 }));
    while (fake.calls(createOf(rig)) === 0) await clock.settle();
    giveUp.abort();
    equal(account.classify(await lost, "create").kind, "unknown");
    deepEqual(fake.batches(), []);
    await clock.advance(90_000);
    equal(fake.batches().length, 1);
  }),
];
