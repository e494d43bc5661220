// A fallback account during its own faults or those of the other account: requests go to any
// account that takes them, and none expires that an account would have taken.

import { describe, expect, test } from "vitest";
import type { Account } from "../../../src/dispatch/contract/account.ts";
import type { DispatcherOptions } from "../../../src/dispatch/contract/dispatcher-options.ts";
import { DispatchError } from "../../../src/dispatch/contract/errors.ts";
import type { Failure } from "../../../src/dispatch/contract/failures.ts";
import type { Endpoint } from "../../../src/dispatch/contract/types.ts";
import { type Fate, SIM_LIMITS, SimProvider } from "../support/simulation/sim-provider.ts";
import { OUTAGE } from "../support/simulation/sim-refusals.ts";
import { SimRunner } from "../support/simulation/sim-runner.ts";
import { ask, isAtRest, SimProcess, world } from "../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NO_CREDIT: Failure = { kind: "authOrBilling", code: "402", message: "No credit." };
const DOWN: Failure = { kind: "definitelyNotCreated", code: "ECONNREFUSED", message: "Refused." };

interface Setting {
  /**
   * Answers of the fallback account, or of the other one, to creates and uploads; null for its
   * usual ones.
   */
  readonly quickSays?: (now: number) => Failure | null;
  readonly slowSays?: (now: number) => Failure | null;
  readonly quickMs?: number;
  readonly slowMs?: number;
  readonly minRequests?: number;
  readonly quickMinRequests?: number;
  readonly more?: readonly Account[];
}

/**
 * Two accounts at providers that need `slowMs` and `quickMs` for a batch. Their times count from 0.
 */
function rig(setting: Setting = {}, options: Partial<DispatcherOptions> = {}) {
  const here = world();
  const begin = here.time.now();
  const provider = (runMs: number, says: Setting["quickSays"]): SimProvider => {
    const fate = (operation: string): Fate => {
      const refuse = says?.(here.time.now() - begin) ?? null;
      return refuse === null || !["upload", "create"].includes(operation) ? {} : { refuse };
    };
    return new SimProvider({ time: here.time, fate, plan: () => ({ validateMs: 0, runMs }) });
  };
  const slow = provider(setting.slowMs ?? HOUR, setting.slowSays);
  const quick = provider(setting.quickMs ?? MINUTE, setting.quickSays);
  const limitsOf = (minRequests = 1) => ({ ...SIM_LIMITS, minRequests });
  const accounts: Account[] = [
    quick.account({ fallback: true, limits: limitsOf(setting.quickMinRequests) }, { name: "quick" }),
    slow.account({ limits: limitsOf(setting.minRequests) }, { name: "slow" }),
    ...(setting.more ?? []),
  ];
  const told: string[] = [];
  const onError = (error: unknown): void => {
    if (error instanceof DispatchError) told.push(error.code);
  };
  const thresholds = { maxRequests: 10, maxAgeMs: 10 * MINUTE };
  const start = (more: Partial<DispatcherOptions> = {}) =>
    here.start({ accounts, thresholds, onError, ...options, ...more });
  const rest = (): Promise<void> => here.until(() => isAtRest(here.store, here.time.now()));
  const ran = (of: SimProvider): string[] => of.executions.map(({ identity }) => identity).sort();
  const statuses = async (): Promise<string[]> => {
    const rows = await here.store.outcomes({ after: 0, limit: 1_000 });
    return [...new Set(rows.map(({ status }) => status))].sort();
  };
  return { ...here, accounts, begin, start, rest, told, slow, quick, ran, statuses };
}

type Rig = ReturnType<typeof rig>;

const many = (from: number, to: number, more: object = {}) =>
  Array.from({ length: to - from }, (_, n) => ask(`r${String(from + n).padStart(2, "0")}`, more));
const names = (from: number, to: number): string[] => many(from, to).map(({ id }) => id as string);

/** Afterwards the other account's batch time is known. */
async function learn({ start, rest }: Pick<Rig, "start" | "rest">) {
  const dispatcher = await start();
  await dispatcher.enqueueMany(many(0, 10));
  await rest();
  return dispatcher;
}

describe("while no batch has ended", () => {
  test("requests that may outlast the completion window go to the fallback account, and one stays as a probe", async () => {
    const { start, rest, time, slow, quick, ran, statuses } = rig();
    const dispatcher = await start();
    const soon = time.now() + 2 * HOUR;
    await dispatcher.enqueueMany([...many(0, 9, { deadlineAt: soon }), ...many(9, 10, { deadlineAt: soon + 1 })]);
    await rest();
    expect([ran(slow), ran(quick)]).toEqual([names(9, 10), names(0, 9)]);
    await dispatcher.enqueueMany(many(10, 20, { deadlineAt: time.now() + 2 * HOUR }));
    await rest();
    expect(ran(slow)).toEqual(names(9, 20));
    expect(await statuses()).toEqual(["succeeded"]);
  });

  test("a single request goes to the fallback account when half of its time has gone", async () => {
    const { start, rest, time, slow, quick, ran } = rig({}, { thresholds: { maxRequests: 10, maxAgeMs: HOUR } });
    const dispatcher = await start();
    await dispatcher.enqueue(ask("only", { deadlineAt: time.now() + 110 * MINUTE }));
    await time.advance(49 * MINUTE);
    expect(quick.batches).toEqual([]);
    await time.advance(7 * MINUTE);
    expect(quick.batches).toHaveLength(1);
    await rest();
    expect([ran(slow), ran(quick)]).toEqual([[], ["only"]]);
  });

  test("requests with less than an hour go to the fallback account at once, all of them", async () => {
    const { start, rest, time, slow, quick, ran } = rig({}, { thresholds: { maxRequests: 50, maxAgeMs: HOUR } });
    const dispatcher = await start();
    await dispatcher.enqueueMany(many(0, 20, { deadlineAt: time.now() + 10 * MINUTE }));
    await time.advance(MINUTE);
    expect(quick.batches).toHaveLength(1);
    await rest();
    expect([ran(slow), ran(quick)]).toEqual([[], names(0, 20)]);
  });

  test("and so they do out of a batch that is full", async () => {
    const { start, rest, time, slow, quick, ran } = rig({}, { thresholds: { maxRequests: 10, maxAgeMs: HOUR } });
    const dispatcher = await start();
    await dispatcher.enqueueMany(many(0, 10, { deadlineAt: time.now() + 10 * MINUTE }));
    await rest();
    expect([ran(slow), ran(quick)]).toEqual([[], names(0, 10)]);
  });

  test("no request moves whose deadline lies outside the window that the account reports", async () => {
    const { accounts, start, rest, time, slow, quick, ran } = rig();
    Object.assign(accounts[1] as Account, {
      capabilities: { ...(accounts[1] as Account).capabilities, completionWindowMs: 2 * HOUR },
    });
    const dispatcher = await start();
    await dispatcher.enqueueMany(many(0, 10, { deadlineAt: time.now() + 3 * HOUR }));
    await rest();
    expect([ran(slow), ran(quick)]).toEqual([names(0, 10), []]);
  });
});

describe("once batches have ended", () => {
  test("a lane closes early enough for the other account to be back in time", async () => {
    const far = { thresholds: { maxRequests: 10, maxAgeMs: 5 * HOUR } };
    const here = rig({}, far);
    const dispatcher = await learn(here);
    await dispatcher.enqueueMany(many(10, 13, { deadlineAt: here.time.now() + 3 * HOUR }));
    await here.time.advance(110 * MINUTE);
    expect(here.slow.batches).toHaveLength(1);
    await here.time.advance(10 * MINUTE);
    expect(here.slow.batches).toHaveLength(2);
    await here.rest();
    expect(here.ran(here.quick)).toEqual([]);
  });

  test("a waiting request moves as soon as the other account would be back too late, and no other with it", async () => {
    const far = { thresholds: { maxRequests: 10, maxAgeMs: 5 * HOUR } };
    const here = rig({}, far);
    const dispatcher = await learn(here);
    await dispatcher.enqueueMany([...many(10, 13), ...many(13, 15, { deadlineAt: here.time.now() + 30 * MINUTE })]);
    await here.time.advance(2 * MINUTE);
    expect(here.ran(here.quick)).toEqual(names(13, 15));
    expect(here.slow.batches).toHaveLength(1);
    await here.rest();
    expect(here.ran(here.slow)).toEqual([...names(0, 13)]);
  });

  test("a fallback account that is slower gets nothing that the other one would bring back sooner", async () => {
    const here = rig({ quickMs: 3 * HOUR });
    const dispatcher = await learn(here);
    // Its own time is not known before it has had one.
    await dispatcher.enqueueMany(many(10, 20, { deadlineAt: here.time.now() + 10 * MINUTE }));
    await here.rest();
    expect(here.ran(here.quick)).toEqual(names(10, 20));
    await dispatcher.enqueueMany(many(20, 30, { deadlineAt: here.time.now() + 10 * MINUTE }));
    await here.rest();
    expect(here.ran(here.slow)).toEqual([...names(0, 10), ...names(20, 30)]);
    expect(await here.statuses()).toEqual(["succeeded"]);
  });
});

describe("when the other account takes nothing", () => {
  test.each<[string, Failure]>([
    ["has no money", NO_CREDIT],
    ["is down", DOWN],
    ["refuses every batch", OUTAGE],
  ])(
    "because it %s, requests with deadlines go to the fallback account in time, and the others wait",
    async (_, failure) => {
      const here = rig({ slowSays: (now) => (now > 2 * HOUR && now < 12 * HOUR ? failure : null) });
      const dispatcher = await learn(here);
      await here.time.advance(2 * HOUR);
      const now = here.time.now();
      await dispatcher.enqueueMany([...many(10, 15, { deadlineAt: now + 4 * HOUR }), ...many(15, 20)]);
      await here.rest();
      expect(await here.statuses()).toEqual(["succeeded"]);
      expect([here.ran(here.slow), here.ran(here.quick)]).toEqual([[...names(0, 10), ...names(15, 20)], names(10, 15)]);
      expect(Math.max(...here.quick.executions.map(({ sentAt }) => sentAt))).toBeLessThan(now + 4 * HOUR);
    },
  );

  test.each([
    ["before", 0],
    ["after", 15 * MINUTE],
  ])("because it was paused %s a batch was closed, they go too, when they have to", async (_, afterMs) => {
    const here = rig({ slowSays: (now) => (now > 2 * HOUR ? NO_CREDIT : null) });
    const dispatcher = await learn(here);
    await here.time.advance(2 * HOUR);
    const now = here.time.now();
    if (afterMs === 0) await dispatcher.pauseAccount("slow");
    await dispatcher.enqueueMany(many(10, 15, { deadlineAt: now + 4 * HOUR }));
    await here.time.advance(afterMs);
    if (afterMs > 0) await dispatcher.pauseAccount("slow");
    await here.rest();
    expect([here.ran(here.quick), await here.statuses()]).toEqual([names(10, 15), ["succeeded"]]);
  });
});

describe("when the fallback account takes nothing", () => {
  const near = (here: Rig) => ({ deadlineAt: here.time.now() + 30 * MINUTE });

  test.each<[string, Failure]>([
    ["has no money", NO_CREDIT],
    ["is down", DOWN],
    ["refuses the model", OUTAGE],
  ])("because it %s, urgent requests go to the other one before their deadlines, uncharged", async (_, failure) => {
    const here = rig({ quickSays: () => failure });
    const dispatcher = await learn(here);
    await dispatcher.enqueueMany(many(10, 15, near(here)));
    await here.rest();
    expect([here.ran(here.slow), here.ran(here.quick)]).toEqual([names(0, 15), []]);
    const outcomes = await Promise.all(names(10, 15).map((id) => dispatcher.result(id)));
    expect(outcomes.map(({ status, attempts }) => [status, attempts])).toEqual(new Array(5).fill(["succeeded", 1]));
    expect(here.quick.calls.get("create") ?? here.quick.calls.get("upload")).toBeLessThan(20);
  });

  test("because it is paused, urgent requests go to the other one at once", async () => {
    const here = rig();
    const dispatcher = await learn(here);
    await dispatcher.pauseAccount("quick");
    await dispatcher.enqueueMany(many(10, 15, near(here)));
    await here.rest();
    expect([here.ran(here.slow), await here.statuses()]).toEqual([names(0, 15), ["succeeded"]]);
  });

  test("a second one takes urgent requests", async () => {
    const here = rig({ quickSays: () => NO_CREDIT });
    const third = new SimProvider({ time: here.time, plan: () => ({ validateMs: 0, runMs: MINUTE }) });
    here.accounts.push(third.account({ fallback: true }, { name: "third" }));
    const dispatcher = await learn(here);
    await dispatcher.enqueueMany(many(10, 15, near(here)));
    await here.rest();
    expect([here.ran(here.slow), here.ran(here.quick), here.ran(third)]).toEqual([names(0, 10), [], names(10, 15)]);
  });

  test("because it takes no fewer, urgent requests go to the other one", async () => {
    const here = rig({ quickMinRequests: 10 }, { onTail: "fail" });
    const dispatcher = await learn(here);
    await dispatcher.enqueueMany(many(10, 15, near(here)));
    await here.rest();
    expect([here.ran(here.slow), await here.statuses(), here.told]).toEqual([names(0, 15), ["succeeded"], []]);
  });

  test("because it has not got the model, or the endpoint, nothing moves", async () => {
    const here = rig();
    const [quick] = here.accounts as [Account];
    const endpoints: readonly Endpoint[] = ["/v1/embeddings"];
    here.accounts[0] = { ...quick, capabilities: { ...quick.capabilities, endpoints } };
    const dispatcher = await learn(here);
    await dispatcher.enqueueMany(many(10, 15, near(here)));
    await here.rest();
    expect(here.ran(here.slow)).toEqual(names(0, 15));
  });

  test.each(["wait", "fail"] as const)(
    "a tail waits until it is back, and is not reported, where onTail is %s",
    async (onTail) => {
      const here = rig({ minRequests: 10, quickSays: (now) => (now < 3 * HOUR ? NO_CREDIT : null) }, { onTail });
      const dispatcher = await here.start();
      await dispatcher.enqueueMany(many(0, 14));
      await here.time.advance(3 * HOUR);
      expect([here.ran(here.slow), here.ran(here.quick), here.told]).toEqual([names(0, 10), [], ["ACCOUNT_PAUSED"]]);
      await here.time.advance(20 * MINUTE);
      expect(here.ran(here.quick)).toEqual(names(10, 14));
      await here.rest();
      expect([await here.statuses(), here.told]).toEqual([["succeeded"], ["ACCOUNT_PAUSED"]]);
    },
  );

  test("a tail waits while it is paused, and goes when it is resumed", async () => {
    const here = rig({ minRequests: 10 }, { onTail: "fail" });
    const dispatcher = await here.start();
    await dispatcher.pauseAccount("quick");
    await dispatcher.enqueueMany(many(0, 14));
    await here.time.advance(3 * HOUR);
    expect(here.ran(here.quick)).toEqual([]);
    await dispatcher.resumeAccount("quick");
    await here.rest();
    expect([here.ran(here.quick), await here.statuses(), here.told]).toEqual([names(10, 14), ["succeeded"], []]);
  });

  test("a tail below its minimum too ends as onTail says, and is reported", async () => {
    const here = rig({ minRequests: 10, quickMinRequests: 5 }, { onTail: "fail" });
    const dispatcher = await here.start();
    await dispatcher.enqueueMany(many(0, 14));
    await here.rest();
    expect([here.ran(here.quick), await here.statuses(), here.told]).toEqual([
      [],
      ["failed", "succeeded"],
      ["BELOW_MINIMUM"],
    ]);
  });
});

describe("times", () => {
  test("a clock that steps a day ahead for some minutes moves and expires nothing", async () => {
    const here = rig();
    const process = new SimProcess(here.time);
    const dispatcher = await here.start({ clock: process.clock });
    await dispatcher.enqueueMany(many(0, 10));
    await here.rest();
    await dispatcher.enqueueMany(many(10, 15, { deadlineAt: here.time.now() + 6 * HOUR }));
    process.step(24 * HOUR, 5 * MINUTE);
    await here.rest();
    expect([here.ran(here.slow), here.ran(here.quick)]).toEqual([names(0, 15), []]);
  });

  test("a deadline that passes while requests move ends them as expired, unsent", async () => {
    const here = rig({ quickSays: () => NO_CREDIT, slowSays: (now) => (now > 2 * HOUR ? NO_CREDIT : null) });
    const dispatcher = await learn(here);
    await here.time.advance(2 * HOUR);
    await dispatcher.enqueueMany(many(10, 15, { deadlineAt: here.time.now() + 30 * MINUTE }));
    await here.rest();
    expect([here.ran(here.slow), here.ran(here.quick)]).toEqual([names(0, 10), []]);
    expect(await here.statuses()).toEqual(["expired", "succeeded"]);
  });
});

describe("one that runs lines itself", () => {
  const UNREACHED: Failure = { kind: "unknown", code: "ECONNREFUSED", message: "Refused." };

  function withRunner(refusal: (now: number) => Failure | null) {
    const here = rig();
    const runner = new SimRunner({ time: here.time, lineMs: () => 1_000, refusal: () => refusal(here.time.now()) });
    here.accounts.splice(0, 1, runner.account());
    return { ...here, runner, ranThere: () => runner.executions.map(({ identity }) => identity).sort() };
  }

  test("takes urgent requests", async () => {
    const here = withRunner(() => null);
    const dispatcher = await learn(here);
    await dispatcher.enqueueMany(many(10, 15, { deadlineAt: here.time.now() + 30 * MINUTE }));
    await here.rest();
    expect([here.ranThere(), here.ran(here.slow)]).toEqual([names(10, 15), names(0, 10)]);
  });

  test.each<[string, Failure]>([
    ["cannot be reached", UNREACHED],
    ["has no money", NO_CREDIT],
  ])("and %s passes urgent requests to the other account", async (_, failure) => {
    const here = withRunner(() => failure);
    const dispatcher = await learn(here);
    await dispatcher.enqueueMany(many(10, 15, { deadlineAt: here.time.now() + 30 * MINUTE }));
    await here.rest();
    expect([here.ranThere(), here.ran(here.slow)]).toEqual([[], names(0, 15)]);
    expect(await here.statuses()).toEqual(["succeeded"]);
  });

  test("and stops halfway keeps the lines that have not run open", async () => {
    const here = withRunner(() => (here.runner.executions.length >= 2 ? UNREACHED : null));
    const dispatcher = await learn(here);
    await dispatcher.enqueueMany(many(10, 15, { deadlineAt: here.time.now() + 30 * MINUTE }));
    await here.rest();
    expect([here.ranThere(), here.ran(here.slow)]).toEqual([names(10, 12), [...names(0, 10), ...names(12, 15)]]);
  });
});
