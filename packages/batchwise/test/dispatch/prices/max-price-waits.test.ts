// Limits of price in bad states: lost limits, requests in other lanes than they began in, batches
// that wait for a person, and limits that a run left out.

import { expect, test } from "vitest";
import { DispatchError, PriceLimitError } from "../../../src/dispatch/contract/errors.ts";
import type { BatchQuery } from "../../../src/dispatch/contract/store/rows.ts";
import type { Store } from "../../../src/dispatch/contract/store/store.ts";
import type { DispatchRequest } from "../../../src/dispatch/contract/types.ts";
import { payerName } from "../../../src/dispatch/format/encode.ts";
import { all, HOUR, jobWorld, MINUTE } from "../support/job-world.ts";
import { SIM_LIMITS, SimProvider } from "../support/simulation/sim-provider.ts";
import { world } from "../support/world.ts";

/** A tenth of a cent for each token. */
const prices = { m: { input: 1_000, output: 1_000, batchDiscount: 0 } };
const bodyOf = (n: number) => ({ model: "m", max_tokens: 10, messages: [{ role: "user", content: `r${n}` }] });

function requests(count: number, more: Partial<DispatchRequest> = {}) {
  return Array.from({ length: count }, (_, n) => ({ id: `r${n}`, body: bodyOf(n), ...more }));
}

/** A store that has lost all limits, until `isLost` is false. */
function forgetful(store: Store, state: { isLost: boolean }): Store {
  return new Proxy(store, {
    get: (object, name) => {
      if (name === "payers" && state.isLost) return async () => [];
      const value: unknown = Reflect.get(object, name);
      return typeof value === "function" ? value.bind(object) : value;
    },
  });
}

const limits = (errors: readonly unknown[]): unknown[] =>
  errors.filter((error) => error instanceof DispatchError && error.code === "PRICE_LIMIT");

test("limits that the store has lost are written again by a process that knows them", async () => {
  const { time, store, start, until } = world();
  const state = { isLost: true };
  const provider = new SimProvider({ time, plan: () => ({ runMs: MINUTE }) });
  const dispatcher = await start({
    ...{ store: forgetful(store, state), accounts: [provider.account()], prices, thresholds: { maxAgeMs: 0 } },
    maxPrice: { tenants: { acme: 1 } },
  });
  await dispatcher.enqueueMany(requests(3, { tenant: "acme" }));
  await time.advance(MINUTE);
  state.isLost = false;
  await until(async () => (await dispatcher.stats()).outcomes.succeeded === 3, HOUR);
  await dispatcher.stop();
});

test("a process without the limit of a tenant says once that the store does not know it", async () => {
  const { time, store, start } = world();
  const provider = new SimProvider({ time, plan: () => ({ runMs: MINUTE }) });
  const options = { accounts: [provider.account()], prices, thresholds: { maxAgeMs: 0 } };
  const state = { isLost: true };
  const knowing = { ...options, store: forgetful(store, state), maxPrice: { tenants: { acme: 1 } } };
  const enqueuing = await start(knowing);
  await enqueuing.enqueueMany(requests(3, { tenant: "acme" }));
  await enqueuing.stop();
  const errors: unknown[] = [];
  const other = await start({ ...options, onError: (error) => errors.push(error) });
  await time.advance(HOUR);
  expect(limits(errors)).toHaveLength(1);
  expect(String(errors[0])).toContain('Requests for the model "m" wait: the store does not know the limit of a job');
  await other.stop();
});

/** Takes one of the job's waiting requests into the urgent lane. */
async function moveOne(store: Store, now: number): Promise<void> {
  const [lane] = (await store.probe(1, now)).lanes;
  const [endpoint = "", ...rest] = (lane?.lane ?? "").split("  ");
  const marks = endpoint.split("#");
  const to = `${[marks[0], 1, "", "urgent", ...marks.slice(4)].join("#")}  ${rest.join("  ")}`;
  const change = { kind: "move", lane: lane?.lane ?? "", to, before: null, limit: 1 } as const;
  expect(await store.amend(change, [], now)).toHaveLength(1);
}

test("requests that ended in the urgent lane are not open in the one that they began in", async () => {
  const { run, settle, store, time } = jobWorld({ plan: { runMs: MINUTE } });
  const begun = run({ requests: requests(3), prices, thresholds: { maxAgeMs: HOUR, maxRequests: 10 } });
  const first = begun.next();
  await time.advance(0);
  await moveOne(store, time.now());
  await settle(first);
  await settle(all(begun));
  const more = run({ requests: requests(4), prices, maxPrice: 50 });
  expect(await settle(all(more))).toHaveLength(4);
});

test("a job whose requests were moved to the urgent lane still ends at its limit", async () => {
  const { run, settle, store, time } = jobWorld({ plan: { runMs: MINUTE } });
  const job = { requests: requests(3), prices, thresholds: { maxRequests: 1 } };
  // Each reserves its prompt and 10 tokens, and the fake counts more than 10 of each.
  const begun = all(run({ ...job, maxPrice: 0.03 }));
  const ended = settle(begun).catch((error: unknown) => error);
  await time.settle();
  await moveOne(store, time.now()).catch(() => {});
  expect(await ended).toBeInstanceOf(PriceLimitError);
});

test("a batch that waits for an operator holds no job open that has reached its limit", async () => {
  const { run, settle, fake, store } = jobWorld({ plan: { runMs: HOUR } });
  const lost = { status: 404, body: { error: { message: "No such batch.", code: null } } };
  fake.inject({ on: ["batches.retrieve", "batches.list"], times: 10_000, accept: false, reply: lost });
  const error = await settle(all(run({ requests: requests(30), prices, maxPrice: 0.4 }))).catch((one: unknown) => one);
  expect(error).toBeInstanceOf(PriceLimitError);
  expect((error as PriceLimitError).reserved).toBeGreaterThan(0);
  expect(await store.batches({ states: ["quarantined"], limit: 10 })).not.toEqual([]);
});

test("an account that takes fewer requests gets as many as the limit pays for", async () => {
  const { time, store, start, until } = world();
  const provider = new SimProvider({ time, plan: () => ({ runMs: MINUTE }) });
  const large = provider.account({ limits: { ...SIM_LIMITS, minRequests: 10 } }, { name: "large", weight: 100 });
  const small = provider.account({}, { name: "small" });
  const options = { prices, thresholds: { maxAgeMs: 0 }, maxPrice: { tenants: { acme: 0.1 } } };
  const errors: unknown[] = [];
  const dispatcher = await start({ ...options, accounts: [large, small], onError: (error) => errors.push(error) });
  await dispatcher.enqueueMany(requests(30, { tenant: "acme" }));
  await until(async () => limits(errors).length > 0, HOUR);
  const names = (await store.batches({ limit: 100 })).map(({ account }) => account);
  expect(new Set(names)).toEqual(new Set(["small"]));
  await dispatcher.stop();
});

test("while answers of the job are awaited, the limit is looked at each ten seconds, and at once when it changes", async () => {
  const { run, settle, store, time } = jobWorld({ plan: { runMs: 10 * MINUTE } });
  const begunAt = time.now();
  let looks = 0;
  const watching = new Proxy(store, {
    get: (object, name) => {
      const value: unknown = Reflect.get(object, name);
      if (name !== "batches" || typeof value !== "function")
        return typeof value === "function" ? value.bind(object) : value;
      return (query: BatchQuery) => {
        if (query.states?.includes("quarantined") && query.states.includes("running")) looks += 1;
        return value.call(object, query);
      };
    },
  });
  const job = run({ store: watching, requests: requests(30), prices, maxPrice: 0.2 });
  expect(await settle(all(job)).catch((one: unknown) => one)).toBeInstanceOf(PriceLimitError);
  expect(looks).toBeGreaterThan(3);
  expect(looks).toBeLessThan((1.1 * (time.now() - begunAt)) / 10_000 + 20);
});

test("the limits of many tenants are written in tens", async () => {
  const { store, start } = world();
  let [open, most] = [0, 0];
  const watching = new Proxy(store, {
    get: (object, name) => {
      const value: unknown = Reflect.get(object, name);
      if (typeof value !== "function") return value;
      return async (...given: unknown[]) => {
        open += name === "usage" ? 1 : 0;
        most = Math.max(most, open);
        await Promise.resolve();
        const result = await value.apply(object, given);
        open -= name === "usage" ? 1 : 0;
        return result;
      };
    },
  });
  const tenants = Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`t${n}`, n + 1]));
  const accounts = [new SimProvider({ time: world().time }).account()];
  const dispatcher = await start({ store: watching, accounts, prices, maxPrice: { tenants } });
  await dispatcher.enqueueMany(requests(1, { tenant: "t3" }));
  expect(most).toBe(10);
  expect(
    await store.payers(
      [],
      Object.keys(tenants).map((of) => payerName("tenant", of)),
    ),
  ).toHaveLength(25);
  await dispatcher.stop();
});

test("a run after one with `maxPrice: Infinity` names a limit, too", async () => {
  const { run, settle } = jobWorld({ plan: { runMs: MINUTE } });
  expect(await settle(all(run({ requests: requests(3), prices, maxPrice: Infinity })))).toHaveLength(3);
  const more = run({ requests: requests(5), prices });
  await expect(settle(all(more))).rejects.toThrow('An earlier run gave the job "night" a `maxPrice` of Infinity');
});

test("open requests that a known job does not pay for are refused in words", async () => {
  const { run, settle, store, time } = jobWorld({ plan: { runMs: MINUTE } });
  const begun = run({ requests: requests(3), prices });
  const first = begun.next();
  await time.advance(1_000);
  await store.payers([{ name: payerName("job", "night"), limit: 1, spent: 0 }], []);
  const late = run({ requests: requests(3), prices, maxPrice: 1 });
  await expect(settle(late.next())).rejects.toThrow("that were enqueued without a `maxPrice`");
  await settle(first);
  await settle(all(begun));
});

test("a retry of requests that began without a limit is refused, unless their bodies are given", async () => {
  const { time, store, start, until } = world();
  const provider = new SimProvider({ time, plan: () => ({ runMs: MINUTE, statusOf: () => 400 }) });
  const options = { accounts: [provider.account()], prices, thresholds: { maxAgeMs: 0 } };
  const before = await start(options);
  await before.enqueueMany(requests(2, { tenant: "acme" }));
  await until(async () => (await before.stats()).outcomes.failed === 2);
  await before.stop();
  const dispatcher = await start({ ...options, maxPrice: { tenants: { acme: 5 } } });
  await expect(dispatcher.retry(["r0"])).rejects.toThrow(
    'The request "r0" was enqueued without the limit of its job or tenant, and would not count',
  );
  expect(await dispatcher.retry(["r0"], { body: ({ body }) => body })).toBe(1);
  const [row] = await store.requests({ ids: ["r0"] });
  expect(row?.lane).toContain(payerName("tenant", "acme"));
  await dispatcher.stop();
});
