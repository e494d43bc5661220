// A fallback account takes only what others do not: tails under their minimum, and requests that
// would be late.

import { describe, expect, test } from "vitest";
import { servingOf } from "../../../src/dispatch/accounts/rank-accounts.ts";
import type { Account } from "../../../src/dispatch/contract/account.ts";
import type { Dispatcher } from "../../../src/dispatch/contract/dispatcher.ts";
import type { DispatcherOptions } from "../../../src/dispatch/contract/dispatcher-options.ts";
import type { BatchRow } from "../../../src/dispatch/contract/store/rows.ts";
import { parseLane } from "../../../src/dispatch/format/encode.ts";
import { turnaroundOf } from "../../../src/dispatch/runtime/prospects.ts";
import { batchRow } from "../support/rows.ts";
import { type Fate, SIM_LIMITS, type SimOptions, SimProvider } from "../support/simulation/sim-provider.ts";
import { typoIn } from "../support/simulation/sim-refusals.ts";
import { ask, isAtRest, world } from "../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/**
 * `slowFate`: of the calls of the account that is no fallback. `most`: its limit on batches.
 * `leastAtQuick`: fewest requests in a batch of the fallback account.
 */
function rig(
  minRequests: number,
  options: Partial<DispatcherOptions> = {},
  slowFate: () => Fate = () => ({}),
  most: number = SIM_LIMITS.maxEnqueuedBatches,
  leastAtQuick = 1,
) {
  const here = world();
  const slow = new SimProvider({ time: here.time, fate: slowFate, plan: () => ({ runMs: 2 * HOUR }) });
  const plan: SimOptions["plan"] = ({ identities }) => ({ validateMs: 0, runMs: MINUTE, failure: typoIn(identities) });
  const quick = new SimProvider({ time: here.time, plan });
  const limits = { ...SIM_LIMITS, minRequests, maxEnqueuedBatches: most };
  const accounts: Account[] = [
    quick.account(
      { fallback: true, limits: { ...SIM_LIMITS, minRequests: leastAtQuick } },
      { name: "quick", weight: 1_000, groupOf: (_endpoint, body) => (body.user as string | undefined) ?? null },
    ),
    slow.account({ limits }, { name: "slow" }),
  ];
  const told: string[] = [];
  const onError = (error: unknown): void => void told.push(String(error));
  const thresholds = { maxRequests: 10, maxAgeMs: 10 * MINUTE };
  const start = () => here.start({ accounts, thresholds, onError, ...options });
  const rest = (): Promise<void> => here.until(() => isAtRest(here.store, here.time.now()));
  const ran = (provider: SimProvider): string[] => provider.executions.map(({ identity }) => identity).sort();
  return { ...here, start, rest, told, slow, quick, ran };
}

const many = (from: number, to: number, more: object = {}) =>
  Array.from({ length: to - from }, (_, n) => ask(`r${from + n}`, more));
const names = (from: number, to: number): string[] => many(from, to).map(({ id }) => id as string);

test("takes no work that another account takes, however free it is", async () => {
  const { start, rest, slow, quick, ran } = rig(1);
  const dispatcher = await start();
  await dispatcher.enqueueMany(many(0, 25));
  await rest();
  expect([ran(slow).length, ran(quick)]).toEqual([25, []]);
});

test.each(["wait", "fail"] as const)("takes the tail once it has waited, where onTail is %s", async (onTail) => {
  const { start, rest, time, slow, quick, ran, told } = rig(10, { onTail });
  const dispatcher = await start();
  await dispatcher.enqueueMany(many(0, 14));
  await time.advance(9 * MINUTE);
  expect(quick.batches).toEqual([]);
  await time.advance(5 * MINUTE);
  await rest();
  expect([ran(slow), ran(quick)]).toEqual([names(0, 10), names(10, 14).sort()]);
  expect(told).toEqual([]);
  const outcomes = await Promise.all(names(0, 14).map((name) => dispatcher.result(name)));
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(["succeeded"]));
});

test("takes requests that would be late, by the recent durations of batches, and no others", async () => {
  const { start, rest, time, slow, quick, ran } = rig(1);
  const dispatcher = await start();
  await dispatcher.enqueueMany(many(0, 10));
  await rest();
  expect([ran(slow).length, ran(quick)]).toEqual([10, []]);
  const now = time.now();
  await dispatcher.enqueueMany([
    ...many(10, 13, { deadlineAt: now + HOUR }),
    ...many(13, 16, { deadlineAt: now + 6 * HOUR }),
    ...many(16, 20),
  ]);
  await rest();
  expect(ran(quick)).toEqual(names(10, 13));
  expect(ran(slow)).toEqual([...names(0, 10), ...names(13, 20)].sort());
  const urgent = await Promise.all(names(10, 13).map((name) => dispatcher.result(name)));
  expect(urgent.map(({ status, attempts }) => [status, attempts])).toEqual(new Array(3).fill(["succeeded", 1]));
  expect((await dispatcher.usage()).map(({ ended }) => ended.succeeded)).toEqual([20]);
});

describe("that has refused three lines in a row", () => {
  const near = 10 * MINUTE;
  const refuse = async ({ rest, time }: ReturnType<typeof rig>, dispatcher: Dispatcher): Promise<void> => {
    for (const name of ["typo-1", "typo-2", "typo-3"]) {
      await dispatcher.enqueue(ask(name, { deadlineAt: time.now() + near }));
      await rest();
    }
  };

  /** The account that is no fallback has no credit then; without a wait it is paused at once. */
  const refusedThrice = async (waitMs: number): Promise<ReturnType<typeof rig> & { dispatcher: Dispatcher }> => {
    let refusal: Fate = {};
    const here = rig(1, {}, () => refusal);
    const dispatcher = await here.start();
    await refuse(here, dispatcher);
    refusal = { refuse: { kind: "authOrBilling", code: "402", message: "No credit." } };
    if (waitMs === 0) await dispatcher.pauseAccount("slow");
    return { ...here, dispatcher };
  };

  test.each([
    ["before", 0],
    ["after", 15 * MINUTE],
  ])("takes one request, then the others, when its only alternative is paused %s a batch was closed", async (_, ms) => {
    const { dispatcher, quick, ran, rest, time } = await refusedThrice(ms);
    await dispatcher.enqueueMany(many(0, 5, { deadlineAt: time.now() + 4 * HOUR }));
    await time.advance(ms);
    await dispatcher.pauseAccount("slow");
    await rest();
    expect(ran(quick)).toEqual(names(0, 5));
    expect(quick.batches.map(({ total }) => total)).toEqual([1, 1, 1, 1, 4]);
  });

  test.each([
    ["before", 0],
    ["after", 15 * MINUTE],
  ])("and refuses one more takes no others, its alternative paused %s a batch was closed", async (_, ms) => {
    const { dispatcher, quick, store, time } = await refusedThrice(ms);
    await dispatcher.enqueue(ask("typo-4", { deadlineAt: time.now() + 3 * HOUR }));
    await dispatcher.enqueueMany(many(0, 5, { deadlineAt: time.now() + 4 * HOUR }));
    await time.advance(ms);
    await dispatcher.pauseAccount("slow");
    await time.advance(3 * MINUTE);
    expect((await dispatcher.result("typo-4")).status).toBe("failed");
    const { lanes } = await store.probe(10, time.now());
    // The sealer may look at their lane once more before it closes the probe.
    const moved = lanes.filter(({ lane }) => parseLane(lane).urgent).map(({ ready }) => ready);
    expect(Math.max(0, ...moved)).toBeLessThanOrEqual(1);
    expect(quick.batches.map(({ total }) => total)).toEqual([1, 1, 1, 1]);
  });

  test("takes one request of several lanes that are late in the same turn", async () => {
    const { dispatcher, quick, store, time } = await refusedThrice(0);
    const late = { deadlineAt: time.now() + 4 * HOUR };
    for (const user of ["a", "b", "c"]) {
      const body = { model: "m", user, messages: [{ role: "user", content: `typo ${user}` }] };
      await dispatcher.enqueueMany([0, 1, 2].map((n) => ({ id: `${user}${n}`, body, ...late })));
    }
    await time.advance(3 * MINUTE);
    const { lanes } = await store.probe(10, time.now());
    const urgent = lanes.filter(({ lane }) => parseLane(lane).urgent);
    expect(urgent.reduce((sum, { ready }) => sum + ready, 0)).toBeLessThanOrEqual(1);
    expect(quick.batches.map(({ total }) => total)).toEqual([1, 1, 1, 1]);
  });

  test.each<[string, number, Fate]>([
    ["is full", 1, {}],
    ["has refused them once", 10, { refuse: { kind: "tokenLimit", code: "full", message: "", limitTokens: null } }],
  ])("takes nothing while another account %s", async (_, most, fate) => {
    let refusal: Fate = {};
    const here = rig(1, {}, () => refusal, most);
    const { slow, quick, ran, rest, start, time } = here;
    const dispatcher = await start();
    await refuse(here, dispatcher);
    await dispatcher.enqueueMany(many(0, 10));
    await time.advance(MINUTE);
    refusal = fate;
    await dispatcher.enqueueMany(many(10, 15, { deadlineAt: time.now() + 8 * HOUR }));
    await time.advance(14 * MINUTE);
    refusal = {};
    await rest();
    expect([ran(slow), ran(quick)]).toEqual([names(0, 15).sort(), []]);
  });

  test("takes nothing that another account takes", async () => {
    const here = rig(1);
    const { slow, quick, ran, rest, start, time } = here;
    const dispatcher = await start();
    await refuse(here, dispatcher);
    await dispatcher.enqueueMany(many(0, 5, { deadlineAt: time.now() + near }));
    await rest();
    expect([ran(slow), ran(quick)]).toEqual([names(0, 5), []]);
  });
});

test.each(["wait", "fail"] as const)("takes no fewer than its minimum, where onTail is %s", async (onTail) => {
  const { start, rest, time, slow, quick, ran, told } = rig(5, { onTail }, undefined, undefined, 5);
  const dispatcher = await start();
  await dispatcher.enqueueMany(many(0, 10));
  await rest();
  await dispatcher.enqueueMany([...many(10, 13, { deadlineAt: time.now() + HOUR }), ...many(13, 16)]);
  await rest();
  expect([ran(slow), ran(quick), told]).toEqual([names(0, 16).sort(), [], []]);
  await dispatcher.enqueueMany([...many(16, 21, { deadlineAt: time.now() + HOUR }), ...many(21, 26)]);
  await rest();
  expect([ran(quick), told]).toEqual([names(16, 21), []]);
});

test("that is the only account serves like any other", async () => {
  const here = world();
  const sim = new SimProvider({ time: here.time });
  const dispatcher = await here.start({ accounts: [sim.account({ fallback: true })], thresholds: { maxRequests: 3 } });
  await dispatcher.enqueueMany(many(0, 3));
  await here.until(() => isAtRest(here.store, here.time.now()));
  expect(sim.executions).toHaveLength(3);
});

describe("the accounts of a lane", () => {
  const sim = new SimProvider({ time: world().time });
  const [a, b, last] = [
    sim.account({}, { name: "a" }),
    sim.account({}, { name: "b", models: ["other"] }),
    sim.account({ fallback: true }, { name: "last" }),
  ];
  const lane = { endpoint: "/v1/embeddings", model: "m", urgent: false };
  const names = ({ first, second }: ReturnType<typeof servingOf<Account>>): string[][] =>
    [first, second].map((some) => some.map(({ name }) => name));

  test.each([
    ["the others, before the fallback account", [a, b, last], lane, [["a"], ["last"]]],
    [
      "of urgent requests, the fallback account before the others",
      [a, last],
      { ...lane, urgent: true },
      [["last"], ["a"]],
    ],
    ["of urgent requests, anybody where there is no fallback account", [a], { ...lane, urgent: true }, [["a"], []]],
    ["the fallback account where nobody else has the model", [b, last], lane, [["last"], []]],
  ])("%s", (_what, accounts, of, expected) => {
    expect(names(servingOf(accounts, of))).toEqual(expected);
  });
});

describe("the turnaround", () => {
  const ended = (ms: number, changes: Partial<BatchRow> = {}): BatchRow =>
    batchRow({ state: "done", providerBatchId: "b", submitStartedAt: 1_000, updatedAt: 1_000 + ms, ...changes });

  test.each<[string, BatchRow[], number | null]>([
    ["is not known before a batch has ended", [], null],
    ["is that of the only batch", [ended(5)], 5],
    ["is that of the slowest but a tenth", Array.from({ length: 20 }, (_, n) => ended(n + 1)), 18],
    ["leaves out what was let go of", [ended(5), ended(900, { disposal: "{}" })], 5],
    ["leaves out what the provider never had", [ended(5), ended(900, { providerBatchId: null })], 5],
  ])("%s", (_what, rows, expected) => {
    expect(turnaroundOf(rows)).toBe(expected);
  });
});
