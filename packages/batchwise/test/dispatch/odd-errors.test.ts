// User functions may throw anything: values that are no errors, have no message, or throw when they
// are read. Each is reported, and none stops the dispatcher.

import { describe, expect, test } from "vitest";
import type { Account } from "../../src/dispatch/contract/account.ts";
import type { DispatcherOptions } from "../../src/dispatch/contract/dispatcher-options.ts";
import { all, jobWorld, plain } from "./support/job-world.ts";
import { SimProvider } from "./support/simulation/sim-provider.ts";
import { ask, isAtRest, SimProcess, world } from "./support/world.ts";

const MINUTE = 60_000;
const { proxy, revoke } = Proxy.revocable({}, {});
revoke();
const silent = (): never => {
  throw new Error("Not even that can be read.");
};

const values: readonly (readonly [string, unknown])[] = [
  ["nothing", undefined],
  ["a symbol", Symbol("odd")],
  ["an object without a prototype", Object.create(null)],
  ["an error whose message cannot be read", Object.defineProperty(new Error("odd"), "message", { get: silent })],
  ["an error whose cause cannot be read", Object.defineProperty(new Error("odd"), "cause", { get: silent })],
  ["an object that is no text", { toString: silent, message: 1, name: 2, code: 3 }],
  ["a proxy that was revoked", proxy],
];

/** Throws once each: later calls work. */
function throwing<Answer>(value: unknown, answer: Answer): { call(): Answer; calls(): number } {
  let calls = 0;
  return {
    calls: () => calls,
    call: () => {
      calls += 1;
      if (calls === 1) throw value;
      return answer;
    },
  };
}

const functions: Readonly<Record<string, (odd: () => unknown) => Partial<DispatcherOptions>>> = {
  onOutcome: (odd) => ({ onOutcome: () => void odd() }),
  "onOutcome, later,": (odd) => ({ onOutcome: async () => void odd() }),
  onBatch: (odd) => ({ onBatch: () => void odd() }),
  "the webhook's fetch": (odd) => ({
    webhook: {
      url: "https://example.test/hook",
      secret: "twelve-characters",
      fetch: async () => {
        odd();
        return new Response(null, { status: 204 });
      },
    },
  }),
};

describe.each(values)("%s", (_what, value) => {
  test.each(Object.entries(functions))("that %s throws is reported, and it is called again", async (_name, options) => {
    const here = world();
    const sim = new SimProvider({ time: here.time });
    let told = 0;
    const odd = throwing(value, undefined);
    const dispatcher = await here.start({
      ...{ accounts: [sim.account()], thresholds: { maxRequests: 1 }, ...options(odd.call) },
      onError: () => {
        told += 1;
        throw value;
      },
    });
    await dispatcher.enqueueMany([ask("a")]);
    await here.until(() => isAtRest(here.store, here.time.now()));
    await here.time.advance(MINUTE);
    expect(told).toBe(1);
    expect(odd.calls()).toBe(2);
    expect((await dispatcher.batches()).map(({ state }) => state)).toEqual(["done"]);
    let isStopped = false;
    void dispatcher.stop().then(() => {
      isStopped = true;
    });
    await here.time.advance(MINUTE);
    expect(isStopped).toBe(true);
  });

  test("that a listener of an event throws is reported", async () => {
    const here = world();
    const told: unknown[] = [];
    const onError = (error: unknown): void => void told.push(error);
    const dispatcher = await here.start({ accounts: [new SimProvider(here).account()], onError });
    dispatcher.on("seal", () => {
      throw value;
    });
    await dispatcher.enqueueMany([ask("a")]);
    dispatcher.flush();
    await here.until(() => isAtRest(here.store, here.time.now()));
    expect(told).toMatchObject([{ message: 'A listener of "seal" threw.' }]);
  });

  test.each(["upload", "create", "retrieve", "results", "list"] as const)(
    "that %s of an account rejects with is reported, and the batch ends",
    async (call) => {
      const here = world();
      const sim = new SimProvider({ time: here.time });
      const account = sim.account();
      const odd = throwing(value, null);
      const broken: Account = {
        ...account,
        [call]: (...given: unknown[]) => {
          odd.call();
          return (account[call] as (...given: unknown[]) => unknown)(...given);
        },
      };
      let told = 0;
      const dispatcher = await here.start({
        ...{ accounts: [broken], thresholds: { maxRequests: 1 } },
        onError: () => {
          told += 1;
        },
      });
      await dispatcher.enqueueMany([ask("a")]);
      await here.until(() => isAtRest(here.store, here.time.now()));
      await here.time.advance(20 * MINUTE);
      expect(odd.calls()).toBeGreaterThan(0);
      expect(told).toBeGreaterThan(0);
      expect(Object.fromEntries(sim.successes())).toEqual({ a: 1 });
    },
  );

  test.each(["requests", "settle", "lease", "probe", "marks", "deliveries", "transition"])(
    "that %s of a store rejects with is reported, and the batch ends",
    async (method) => {
      const here = world();
      const sim = new SimProvider({ time: here.time });
      let isOn = false;
      const odd = throwing(value, undefined);
      const store = new SimProcess(here.time).wrap(here.store, async (name, call) => {
        if (isOn && name === method) odd.call();
        return call();
      });
      let told = 0;
      const dispatcher = await here.start({
        ...{ store, accounts: [sim.account()], thresholds: { maxRequests: 1 }, onOutcome: () => {} },
        onError: () => {
          told += 1;
        },
      });
      isOn = true;
      await dispatcher.enqueueMany([ask("a")]);
      await here.until(() => isAtRest(here.store, here.time.now()));
      expect(odd.calls()).toBeGreaterThan(1);
      expect(told).toBeGreaterThan(0);
      expect(Object.fromEntries(sim.successes())).toEqual({ a: 1 });
    },
  );

  test("that onProgress throws is reported, and the job ends", async () => {
    const { run, settle } = jobWorld();
    const odd = throwing(value, undefined);
    let told = 0;
    const onError = (): void => {
      told += 1;
    };
    const outcomes = await settle(all(run({ requests: plain(3), onProgress: () => void odd.call(), onError })));
    expect(outcomes).toHaveLength(3);
    expect([told > 0, odd.calls() > 1]).toEqual([true, true]);
  });

  test("that the requests of a job throw ends the run with it", async () => {
    const { run, settle, time } = jobWorld();
    function* requests() {
      yield* plain(2);
      throw value;
    }
    const thrown = await settle(
      all(run({ requests: requests() })).then(
        () => "ended",
        (error: unknown) => ({ error }),
      ),
    );
    expect(thrown).toHaveProperty("error");
    expect((thrown as { error: unknown }).error === value).toBe(true);
    expect(time.nextAt).toBe(Number.POSITIVE_INFINITY);
  });
});

test("an account that can name neither its secrets nor the meaning of an error holds up no other", async () => {
  const here = world();
  const secret = "the-other-account's-key";
  const sims = [new SimProvider(here), new SimProvider(here)] as const;
  const lists = { other: 0 };
  const odd: Account = { ...sims[0].account(), name: "odd", models: ["odd"], secrets: silent, classify: silent };
  const plainOther = sims[1].account();
  const other: Account = {
    ...plainOther,
    ...{ name: "other", secrets: () => [secret] },
    list: (...given) => {
      lists.other += 1;
      return plainOther.list(...given);
    },
  };
  odd.list = () => Promise.reject(new Error(`Refused: ${secret}`));
  const told: string[] = [];
  const dispatcher = await here.start({
    ...{ accounts: [odd, other], thresholds: { maxRequests: 1 } },
    onError: (error) => void told.push(String(error)),
  });
  await dispatcher.enqueueMany([ask("a"), { id: "b", body: { ...ask("b").body, model: "odd" } }]);
  await here.until(() => isAtRest(here.store, here.time.now()));
  await here.time.advance(20 * MINUTE);
  expect(lists.other).toBeGreaterThan(0);
  expect(told.length).toBeGreaterThan(0);
  expect(told.join()).not.toContain(secret);
  expect(sims.map((sim) => sim.successes().size)).toEqual([1, 1]);
});
