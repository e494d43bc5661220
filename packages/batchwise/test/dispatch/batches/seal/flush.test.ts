// A job that has an end: after a flush no batch waits to fill up, and the log can be read until
// nothing is left to do.

import { expect, test } from "vitest";
import type { Dispatcher } from "../../../../src/dispatch/contract/dispatcher.ts";
import type { LoggedOutcome, OutcomesOptions } from "../../../../src/dispatch/contract/types.ts";
import { SimProvider } from "../../support/simulation/sim-provider.ts";
import { ask, world } from "../../support/world.ts";

const HOUR = 3_600_000;
const thresholds = { maxRequests: 1_000, maxAgeMs: 100 * HOUR };
const names = Array.from({ length: 10 }, (_, index) => `r${index}`);

async function readAll(dispatcher: Dispatcher, options: OutcomesOptions): Promise<LoggedOutcome[]> {
  const read: LoggedOutcome[] = [];
  for await (const outcome of dispatcher.outcomes(options)) read.push(outcome);
  return read;
}

test("a flush closes at once the waiting requests, and later those that return from them, but no new ones", async () => {
  const here = world();
  const sim = new SimProvider({
    time: here.time,
    plan: () => ({ statusOf: (name, run) => (name === "r3" && run === 1 ? 503 : 200) }),
  });
  const dispatcher = await here.start({ accounts: [sim.account()], thresholds });
  await dispatcher.enqueueMany(names.map((name) => ask(name)));
  await here.time.advance(HOUR);
  expect(await dispatcher.batches()).toEqual([]);
  dispatcher.flush();
  await here.time.advance(1);
  expect((await dispatcher.batches()).map(({ requests }) => requests)).toEqual([10]);
  await here.time.advance(1_000);
  await dispatcher.enqueue(ask("late"));
  await here.time.advance(60_000);
  expect(await dispatcher.batches()).toHaveLength(1);
  await here.time.advance(2 * HOUR);
  expect([...sim.successes().keys()].toSorted()).toEqual(expect.arrayContaining(names));
});

test("read until idle, the log ends when every request has its outcome", async () => {
  const here = world();
  const sim = new SimProvider({ time: here.time });
  const dispatcher = await here.start({ accounts: [sim.account()], thresholds });
  expect(await readAll(dispatcher, { untilIdle: true })).toEqual([]);
  await dispatcher.enqueueMany(names.map((name) => ask(name)));
  const reading = readAll(dispatcher, { untilIdle: true });
  dispatcher.flush();
  await here.time.advance(HOUR);
  const outcomes = await reading;
  expect(outcomes.map(({ id }) => id).toSorted()).toEqual(names);
  const again = await readAll(dispatcher, { after: outcomes[3]?.cursor ?? 0, untilIdle: true });
  expect(again.map(({ id }) => id)).toEqual(outcomes.slice(4).map(({ id }) => id));
});

test("read until idle, the log does not wait for batches that are put aside, and names them", async () => {
  const here = world();
  const sim = new SimProvider({ time: here.time, plan: () => ({ runMs: 2 * HOUR }) });
  const dispatcher = await here.start({ accounts: [sim.account()], thresholds });
  await dispatcher.enqueueMany(names.map((name) => ask(name)));
  dispatcher.flush();
  await here.time.advance(HOUR);
  const [batch] = await here.store.batches({ limit: 1 });
  const leased = await here.store.lease({
    ...{ owner: "a person", now: here.time.now(), leaseUntil: here.time.now() + 1_000, accounts: [batch!.account] },
    ...{ limit: 1, keys: [batch!.key] },
  });
  const aside = { state: "quarantined", leaseUntil: 0 } as const;
  await here.store.transition(batch!.key, leased[0]!.fence, aside, here.time.now());
  const reading = readAll(dispatcher, { untilIdle: true });
  const named = { code: "QUARANTINED", keys: [batch!.key], retryable: false };
  await Promise.all([expect(reading).rejects.toMatchObject(named), here.time.advance(1_000)]);
});

test.each<[string, object, RegExp]>([
  ["a cursor that is no number", { after: Number.NaN }, /Expected `after` to be an integer >= 0, got/],
  ["a cursor below 0", { after: -1 }, /Expected `after` to be an integer >= 0, got/],
  ["a cursor as text", { after: "0" }, /Expected `after` to be an integer >= 0, got/],
  ["a misspelt option", { form: 3 }, /Unknown option `form`/],
  ["an answer that is neither yes nor no", { untilIdle: 1 }, /Expected `untilIdle` to be a boolean or a promise, got/],
])("outcomes refuses %s at once", async (_, options, message) => {
  const here = world();
  const dispatcher = await here.start({ accounts: [new SimProvider({ time: here.time }).account()] });
  expect(() => dispatcher.outcomes(options as OutcomesOptions)).toThrow(message);
});

test("outcomes refuses a cursor that lies beyond the log instead of waiting for it", async () => {
  const here = world();
  const dispatcher = await here.start({ accounts: [new SimProvider({ time: here.time }).account()] });
  const read = dispatcher.outcomes({ after: 7 }).next();
  await expect(read).rejects.toThrow("Expected `after` to be at most 0, the log's last cursor, got 7");
});

test.each<[string, (dispatcher: Dispatcher) => Promise<unknown>, RegExp]>([
  ["batches of a misspelt filter", (d) => d.batches({ state: ["done"] } as never), /Unknown option `state`.*`states`/],
  ["batches of no state there is", (d) => d.batches({ states: ["foo" as never] }), /Expected `states` to be .*"done"/],
  [
    "batches of one state in no list",
    (d) => d.batches({ states: "done" as never }),
    /Expected `states` to be an array/,
  ],
  ["result with a misspelt option", (d) => d.result("a", { singal: 1 } as never), /Unknown option `singal`.*`signal`/],
  ["enqueueMany of no list", (d) => d.enqueueMany({} as never), /Expected an array of requests/],
])("is refused with the expected value: %s", async (_, call, message) => {
  const here = world();
  const dispatcher = await here.start({ accounts: [new SimProvider({ time: here.time }).account()] });
  await expect(call(dispatcher)).rejects.toThrow(message);
});

test("requests that no account here serves are reported once", async () => {
  const here = world();
  const sim = new SimProvider({ time: here.time });
  const before = await here.start({ accounts: [sim.account()], thresholds });
  await before.enqueueMany(names.map((name) => ask(name)));
  await before.stop();
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  await here.start({ accounts: [{ ...sim.account(), models: ["another"] }], thresholds, onError });
  await here.time.advance(HOUR);
  expect(errors).toMatchObject([
    { code: "NO_ACCOUNT", message: expect.stringContaining('10 requests wait for the model "m"') },
  ]);
});
