// Synchronous functions of an account, and `random`, that answer with something else: each is
// refused by name, holds up no other account, and leaves no promise whose rejection ends the
// process. What is thrown: odd-errors.test.ts.

import { expect, test } from "vitest";
import type { Account } from "../../src/dispatch/contract/account.ts";
import { SimProvider } from "./support/simulation/sim-provider.ts";
import { ask, isAtRest, world } from "./support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const late = async (): Promise<never> => {
  throw new Error("Late.");
};
const { proxy, revoke } = Proxy.revocable({}, {});
revoke();
const thrownProxy = (): never => {
  throw proxy;
};

/** An account with some functions replaced, beside one that is well. */
async function site(odd: Partial<Record<keyof Account, () => unknown>>, isLost = false) {
  const here = world();
  const sim = new SimProvider({ time: here.time, fate: () => (isLost ? { drop: "before" } : {}) });
  const accounts = [
    { ...sim.account(), name: "odd", models: ["m"], ...odd } as Account,
    { ...new SimProvider(here).account(), name: "well", models: ["other"] },
  ];
  const told: string[] = [];
  const onError = (error: unknown): void => void told.push(String(error));
  const dispatcher = await here.start({ accounts, thresholds: { maxRequests: 1 }, onError });
  const other = { id: "other", body: { ...ask("other").body, model: "other" } };
  const endOfOther = async () => {
    await dispatcher.enqueueMany([other]);
    await here.time.advance(HOUR);
    const [outcome] = await here.store.outcomes({ ids: ["other"] });
    void dispatcher.stop();
    await here.time.advance(10_000);
    return { status: outcome?.status, timers: here.time.timers };
  };
  return { here, dispatcher, told, endOfOther };
}
const well = { status: "succeeded", timers: 0 };

test.each([
  ["a promise", late, "an object (Promise)"],
  ["a number", () => 7, "a number"],
  ["a text", () => "sk-live-0123456789abcdef", "a string"],
  ["lists of lists", () => [["a-secret-of-a-list"]], "an object (Array)"],
])("secrets that are %s are refused when the dispatcher is made", async (_what, secrets, words) => {
  const message = `Expected \`accounts[0].secrets()\` to be an array of strings, got ${words}`;
  await expect(site({ secrets })).rejects.toMatchObject({ code: "INVALID_OPTION", message });
});

test.each([
  ["a promise", late],
  ["a number", () => 7],
  ["lists of lists", () => [[["a-secret-of-a-list"]]]],
])("secrets that become %s later hold up no account", async (_what, become) => {
  let calls = 0;
  const { here, dispatcher, endOfOther } = await site({ secrets: () => (calls++ === 0 ? [] : become()) });
  await dispatcher.enqueueMany([ask("a")]);
  expect(await endOfOther()).toEqual(well);
  expect(await here.store.outcomes({ ids: ["a"] })).toMatchObject([{ status: "succeeded" }]);
});

test.each(["encodeLine", "lineBytes", "checkBody", "groupOf", "cachedPrefix"] as const)(
  "a promise of `%s` rejects the call that needed it",
  async (name) => {
    const { dispatcher, endOfOther } = await site({ [name]: late });
    const message = `Expected \`${name}\` of account \`odd\` to answer at once, got a promise`;
    await expect(dispatcher.enqueueMany([ask("a")])).rejects.toThrow(new TypeError(message));
    expect(await endOfOther()).toEqual(well);
  },
);

test.each([Number.NaN, -1, {}, "many", "12"])(
  "`lineBytes` that gives %s rejects the call, and fails no request",
  async (bytes) => {
    const { here, dispatcher, endOfOther } = await site({ lineBytes: () => bytes });
    await expect(dispatcher.enqueueMany([ask("a")])).rejects.toThrow("Expected `lineBytes` of account `odd`");
    expect(await endOfOther()).toEqual(well);
    expect(await here.store.requests({ ids: ["a"] })).toEqual([]);
  },
);

test("`lineBytes` that gives null leaves the count to `encodeLine`", async () => {
  const { here, dispatcher } = await site({ lineBytes: () => null });
  await dispatcher.enqueueMany([ask("a")]);
  const [lane] = (await here.store.probe(1, here.time.now())).lanes;
  expect(lane?.bytes).toBeGreaterThan(0);
  await dispatcher.stop();
});

test.each([
  ["gives a promise", "classify", late, /`classify` of account `odd` to answer at once/],
  ["throws what cannot be read", "classify", thrownProxy, /cannot be read/],
  ["gives a promise", "isNamedByPlace", late, /`isNamedByPlace` of account `odd` to answer at once/],
  ["throws what cannot be read", "isNamedByPlace", thrownProxy, /cannot be read/],
] as const)("an account that %s in `%s` is reported, and the batch waits", async (_how, name, odd, words) => {
  const { here, dispatcher, told, endOfOther } = await site({ [name]: odd }, name === "classify");
  await dispatcher.enqueueMany([ask("a")]);
  expect(await endOfOther()).toEqual(well);
  expect(told.join("\n")).toMatch(words);
  expect(await here.store.requests({ ids: ["a"] })).toMatchObject([{ ended: null }]);
});

test.each([
  ["no number", () => undefined],
  ["NaN", () => Number.NaN],
  ["1", () => 1],
  ["a promise", late],
])("a `random` that gives %s still gives each request an id of its own", async (_what, random) => {
  const here = world();
  const dispatcher = await here.start({ accounts: [new SimProvider(here).account()], random: random as () => number });
  const { body } = ask("a");
  const ids = (await dispatcher.enqueueMany([{ body }, { body }, { body }])).map(({ id }) => id);
  expect(new Set(ids).size).toBe(3);
  expect(ids.join()).toMatch(/^[0-9A-Z,]+$/);
  dispatcher.flush();
  await here.until(() => isAtRest(here.store, here.time.now()));
  expect((await here.store.outcomes({ ids })).map(({ status }) => status)).toEqual(ids.map(() => "succeeded"));
});
