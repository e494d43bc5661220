// Plans that give requests of a batch to another account: what they say, and that they change
// nothing by themselves.

import { expect, test } from "vitest";
import { plan } from "../../../../src/dispatch/batches/plan.ts";
import { preferFreeAccount } from "../../../../src/dispatch/batches/submit/competing-batches.ts";
import type { LedgerRow } from "../../../../src/dispatch/contract/store/ledger-rows.ts";
import { resolveOptions } from "../../../../src/dispatch/options/resolve-options.ts";
import { Runtime } from "../../../../src/dispatch/runtime/runtime.ts";
import { memoryStore } from "../../../../src/dispatch/stores/memory/memory-store.ts";
import { virtualClock } from "../../../../src/testing/index.ts";
import { batchRow } from "../../support/rows.ts";
import { SimProvider } from "../../support/simulation/sim-provider.ts";
import { START } from "../../support/world.ts";

const MINUTE = 60_000;
const NOW = START;

function here() {
  const clock = virtualClock(NOW);
  const account = { ...new SimProvider({ time: clock }).account(), models: null };
  const accounts = [account, { ...account, name: "other" }];
  const runtime = new Runtime(resolveOptions({ store: memoryStore(), accounts, clock }));
  const batch = batchRow({ account: account.name, ledger: account.name, createdAt: NOW - MINUTE });
  return { runtime, batch };
}

test("the second of two batches that were denied after they were accepted waits as the first did", () => {
  const { runtime, batch } = here();
  const until = NOW + 15 * MINUTE;
  const denied = plan("sealed", until, { pauseAccountUntil: until, figures: { wholeFailures: 1 } });
  const none = { tokens: 0, requests: 0, batches: 0, learnedTokens: null, learnedAt: null, strikes: 0, outage: null };
  const closed: LedgerRow = { ...none, name: batch.account, blockedUntil: until, note: "denied" };
  expect(preferFreeAccount(runtime, batch, denied, new Map())).toBe(denied);
  expect(preferFreeAccount(runtime, batch, denied, new Map([[closed.name, closed]]))).toBe(denied);
});

test("a batch whose account was not reached leaves, and the plan says that this process prefers others", () => {
  const { runtime, batch } = here();
  const again = plan("sealed", NOW + MINUTE, { figures: { tries: 2 } });
  const moved = preferFreeAccount(runtime, batch, again, new Map(), true);
  expect(moved).toMatchObject({ state: "collecting", pauseAccountUntil: null, avoidAccountMs: 5 * MINUTE });
  expect(moved.disposal).toMatchObject({ kind: "requeue" });
  expect(runtime.troubles.isAvoided(batch.account)).toBe(false);
});
