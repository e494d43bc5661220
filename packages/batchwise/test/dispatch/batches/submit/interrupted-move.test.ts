// A process dies between moving a request out of a batch and writing the consequence, and the next
// process has no fallback account: nothing else moves, and the batch continues from the state that
// the dead process left.

import { expect, test } from "vitest";
import type { Account } from "../../../../src/dispatch/contract/account.ts";
import type { Failure } from "../../../../src/dispatch/contract/failures.ts";
import { type Fate, SimProvider } from "../../support/simulation/sim-provider.ts";
import { ask, isAtRest, SimProcess, world } from "../../support/world.ts";

const HOUR = 3_600_000;
const IDS = ["r0", "r1", "r2", "r3"];
const busy: Failure = { kind: "rateLimited", code: "busy", message: "Later.", retryAfterMs: HOUR };

test.each([
  ["named by place, the others go in a new batch", true, [4, 3, 1]],
  ["named by id, the others go in the same batch, without the line of the one that left", false, [4, 1]],
])("where results are %s, each request runs once and has its own answer", async (_how, byPlace, sizes) => {
  const here = world();
  const dying = new SimProcess(here.time);
  // What a file says of the batch is kept while its create is refused.
  const fate = (operation: string): Fate => (operation === "create" && !dying.isDead ? { refuse: busy } : {});
  const slow = new SimProvider({ time: here.time, byPlace, fate });
  const quick = new SimProvider({ time: here.time });
  const accounts: Account[] = [
    slow.account({}, { name: "slow" }),
    quick.account({ fallback: true }, { name: "quick" }),
  ];
  const failpoint = (name: string): void => {
    if (name === "moving-urgent") dying.kill();
  };
  const thresholds = { maxRequests: 4, maxAgeMs: 60_000 };
  const own = { store: dying.wrap(here.store), clock: dying.clock, failpoint, owner: "first" };
  const first = await here.start({ accounts: accounts.map((each) => dying.wrap(each)), thresholds, ...own });
  // No batch of the account has ended yet, so its window counts: from the second hour on r0 is
  // late.
  const deadlineAt = here.time.now() + 25 * HOUR;
  await first.enqueueMany(IDS.map((id) => ask(id, id === "r0" ? { deadlineAt } : {})));
  await here.until(async () => dying.isDead);
  expect([slow.calls.get("upload"), slow.executions]).toEqual([1, []]);
  const second = await here.start({ accounts: accounts.slice(0, 1), thresholds, owner: "second" });
  await here.until(() => isAtRest(here.store, here.time.now()));
  const outcomes = await Promise.all(IDS.map((id) => second.result(id)));
  expect(outcomes.map(({ response }) => response?.body.answer)).toEqual(IDS);
  expect(slow.executions.map(({ identity }) => identity).toSorted()).toEqual(IDS);
  const batches = await second.batches();
  expect(batches.map(({ requests }) => requests).toSorted((a, b) => b - a)).toEqual(sizes);
});
