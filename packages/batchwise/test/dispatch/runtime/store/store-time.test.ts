import { expect, test } from "vitest";
import { leaseInput, StoreTime } from "../../../../src/dispatch/runtime/store/store-time.ts";
import { virtualClock } from "../../../../src/testing/index.ts";

const MINUTE = 60_000;

/**
 * A store whose clock is ahead by `store.aheadMs`. Its answer takes half of `store.takesMs` to
 * return.
 */
function rig(aheadMs: number) {
  const time = virtualClock(1_000_000);
  const clock = {
    now: () => time.now(),
    monotonic: () => time.now(),
    setTimeout: time.setTimeout.bind(time),
    clearTimeout: time.clearTimeout.bind(time),
    hold: <T>(work: Promise<T>) => work,
  };
  const store = { aheadMs, takesMs: 0, fails: false, calls: 0 };
  const wait = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      time.setTimeout(resolve, ms);
    });
  const now = async (): Promise<number> => {
    store.calls += 1;
    await wait(store.takesMs / 2);
    if (store.fails) throw new Error("No.");
    const at = time.now() + store.aheadMs;
    await wait(store.takesMs / 2);
    return at;
  };
  const reports: string[] = [];
  const storeTime = new StoreTime({ now }, clock, ({ code, message }) => reports.push(`${code} ${message}`));
  const measure = async (): Promise<number> => {
    const measured = storeTime.measure();
    await time.advance(store.takesMs);
    await measured;
    return storeTime.aheadMs;
  };
  return { time, clock, store, storeTime, reports, measure };
}

test.each([
  ["ahead", 600_000],
  ["behind", -600_000],
])(
  "a store's clock that is ten minutes %s is reported once, and once more when the clocks agree",
  async (_, aheadMs) => {
    const { time, store, reports, measure } = rig(aheadMs);
    expect(await measure()).toBe(aheadMs);
    await time.advance(MINUTE);
    expect(await measure()).toBe(aheadMs);
    expect(reports).toEqual([
      expect.stringMatching(/^CLOCK_DIFFERS .*: it is 1970-01-01T00:16:40.000Z here and 1970-/),
    ]);
    store.aheadMs = 0;
    await time.advance(MINUTE);
    expect(await measure()).toBe(0);
    expect(reports.slice(1)).toEqual([expect.stringContaining("agree again")]);
  },
);

test("a measure is taken once a minute, for any number of callers", async () => {
  const { time, store, measure, storeTime } = rig(5_000);
  const both = [storeTime.measure(), storeTime.measure()];
  await time.advance(0);
  await Promise.all(both);
  await time.advance(MINUTE - 1);
  await measure();
  expect(store.calls).toBe(1);
  await time.advance(1);
  await measure();
  expect(store.calls).toBe(2);
});

test("half of the time of the call counts, differences below a second and slow answers do not", async () => {
  const { time, store, reports, measure } = rig(20_000);
  store.takesMs = 1_000;
  expect(await measure()).toBe(20_000);
  store.aheadMs = 20_900;
  await time.advance(MINUTE);
  expect(await measure()).toBe(20_000);
  store.aheadMs = 90_000;
  store.takesMs = 2_100;
  await time.advance(MINUTE);
  expect(await measure()).toBe(20_000);
  expect(reports).toEqual([]);
});

test("a store that does not answer keeps the old measure", async () => {
  const { time, store, measure } = rig(45_000);
  expect(await measure()).toBe(45_000);
  store.fails = true;
  await time.advance(MINUTE);
  expect(await measure()).toBe(45_000);
});

test("a lease uses the store's clock, and due times the process's", async () => {
  const { time, clock, storeTime } = rig(600_000);
  const input = leaseInput(
    { clock, storeTime, options: { owner: "me", leaseMs: 90_000 } },
    { accounts: ["a"], limit: 1 },
  );
  await time.advance(0);
  expect(await input).toEqual({
    ...{ owner: "me", accounts: ["a"], limit: 1, now: 1_000_000 },
    ...{ freeAt: 1_600_000, leaseUntil: 1_690_000 },
  });
});
