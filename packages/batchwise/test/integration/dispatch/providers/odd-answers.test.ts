// What providers and callbacks answer and no database takes as it is: counts that are no whole
// numbers, error texts with a NUL character, ids that no request can have. One such answer stops
// nothing but itself.

import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  type Account,
  createDispatcher,
  type Dispatcher,
  type DispatcherOptions,
  type ProviderBatch,
  type Store,
} from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { databaseParent } from "../../../dispatch/stores/sqlite/folder.ts";
import { postgresPlace, redisPlace } from "../../services/kept.ts";
import { openStore, type Place } from "../stores/open-store.ts";

const folder = mkdtempSync(join(databaseParent(), "batchwise-answers-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function file(): string {
  files += 1;
  return join(folder, `${files}.db`);
}

const places: readonly (readonly [name: string, place: () => Promise<Place>])[] = [
  ["SQLite", async () => ({ kind: "sqlite", path: file() })],
  ["Postgres", async () => ({ kind: "postgres", config: await postgresPlace() })],
  ["Redis", async () => ({ kind: "redis", ...(await redisPlace()) })],
];

/** Counts that a provider names for the request of this id. */
const USAGE: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  half: { prompt_tokens: 10.5, completion_tokens: 0.25 },
  huge: { prompt_tokens: 9e15, completion_tokens: 1e300 },
  huger: { prompt_tokens: 9e15, completion_tokens: 1e300 },
  plain: { prompt_tokens: 7, completion_tokens: 3 },
};
const IDS = Object.keys(USAGE);

async function started(
  place: () => Promise<Place>,
  options: Partial<DispatcherOptions>,
  changed: (account: Account) => Account = (account) => account,
): Promise<{ readonly store: Store; readonly dispatcher: Dispatcher }> {
  const fake = fakeProvider({
    plan: { validateMs: 0, runMs: 20, finalizeMs: 0 },
    answer: ({ body }) => {
      const [, name = ""] = /say (\w+)/.exec(JSON.stringify(body)) ?? [];
      return { status: 200, body: { choices: [{ message: { content: "a" } }], usage: USAGE[name] ?? {} } };
    },
  });
  const { store, end } = await openStore(await place());
  const client = new OpenAI({ apiKey: "k", baseURL: "http://fake.test/v1", fetch: fake.fetch });
  const accounts = [changed(openaiAccount({ client, pollMs: 50 }))];
  const thresholds = { maxRequests: IDS.length, maxAgeMs: 50 };
  const dispatcher = createDispatcher({ store, accounts, thresholds, onError: () => {}, ...options });
  onTestFinished(async () => {
    await dispatcher.stop();
    await store.close();
    await end();
  });
  const body = (id: string): object => ({ model: "m", messages: [{ role: "user", content: `say ${id}` }] });
  await dispatcher.enqueueMany(IDS.map((id) => ({ id, job: "j", body: body(id) as never })));
  await dispatcher.start();
  return { store, dispatcher };
}

/** Its methods as an object's own, for others to take the place of some. */
function allOf(account: Account): Account {
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(account)).filter((name) => name !== "constructor");
  const methods = names.flatMap((name) => {
    const value: unknown = Reflect.get(account, name);
    return typeof value === "function" ? [[name, value.bind(account)]] : [[name, value]];
  });
  return { ...account, ...Object.fromEntries(methods) };
}

describe.each(places)("on %s", (_name, place) => {
  test("counts that are no whole numbers, or too large, end their requests, and the sums can be read", async () => {
    const { dispatcher } = await started(place, {});
    for (const id of IDS) {
      expect(await dispatcher.result(id, { signal: AbortSignal.timeout(10_000) })).toMatchObject({
        status: "succeeded",
      });
    }
    const [sums] = await dispatcher.usage({ job: "j" });
    expect(sums).toMatchObject({ requests: 4, ended: { succeeded: 4 } });
    expect(Number.isSafeInteger(sums?.inputTokens) && Number.isSafeInteger(sums?.outputTokens)).toBe(true);
  }, 20_000);

  test("a provider's states and errors of any text stop no batch", async () => {
    let creates = 0;
    const odd = (batch: ProviderBatch): ProviderBatch => ({ ...batch, rawState: `${batch.rawState}\0 \ud83d` });
    const { dispatcher } = await started(place, { retry: { backoffMs: 10, maxBackoffMs: 20 } }, (account) => ({
      ...allOf(account),
      create: async (input, call) => {
        creates += 1;
        if (creates === 1) throw new Error("no\0thing");
        return odd(await account.create(input, call));
      },
      retrieve: async (id, call) => {
        const batch = await account.retrieve(id, call);
        return batch === null ? null : odd(batch);
      },
      classify: (error, operation) =>
        error instanceof Error && error.message === "no\0thing"
          ? { kind: "rateLimited", code: "slow\0 \ud83d", message: "x\0".repeat(100_000), retryAfterMs: 50 }
          : account.classify(error, operation),
    }));
    for (const id of IDS) {
      const outcome = await dispatcher.result(id, { signal: AbortSignal.timeout(10_000) });
      expect(outcome.status).toBe("succeeded");
    }
    expect(creates).toBe(2);
    expect((await dispatcher.batches())[0]?.providerState).toContain("\ufffd");
  }, 20_000);

  test("a tenant, job or batch that no request can have is not found", async () => {
    const { dispatcher } = await started(place, {});
    for (const odd of ["no\0thing", "half \ud83d"]) {
      expect(await dispatcher.usage({ tenant: odd })).toEqual([]);
      for (const filter of [{ tenant: odd }, { job: odd }, { batch: odd }, { code: odd }]) {
        expect(await dispatcher.requests(filter)).toEqual({ requests: [], next: null });
      }
      expect(await dispatcher.batches({ keys: [odd] })).toEqual([]);
      await expect(dispatcher.abandon(odd, { requests: "end" })).rejects.toMatchObject({ code: "NOT_FOUND" });
    }
  }, 20_000);

  test("a callback's error of any text is logged, and the callback is called again", async () => {
    const calls = new Map<string, number>();
    const onOutcome = ({ id }: { readonly id: string }): void => {
      const call = (calls.get(id) ?? 0) + 1;
      calls.set(id, call);
      if (call === 1) throw new Error(`It says \0 and half of ${"\ud83d"}, ${"and goes on, ".repeat(10_000)}`);
    };
    const { store } = await started(place, { onOutcome, retry: { backoffMs: 10, maxBackoffMs: 20 } });
    await expect
      .poll(async () => (await store.probe(1, Date.now())).cursor, { timeout: 10_000, interval: 50 })
      .toBe(IDS.length);
    await expect
      .poll(async () => (await store.probe(1, Date.now())).deliveriesWaiting, { timeout: 8_000, interval: 50 })
      .toBe(0);
    const [row] = await store.outcomes({ ids: ["plain"], deliveries: true });
    const [first] = row?.deliveries?.[0]?.log ?? [];
    expect(first?.error).toContain("It says");
    expect(first?.error?.length).toBeLessThanOrEqual(2_000);
  }, 25_000);

  test.each([
    ["a NUL", "no\0thing"],
    ["half a surrogate pair", "half \ud83d"],
  ])(
    "an id with %s is not found, and fails no other look-up",
    async (_what, odd) => {
      const { dispatcher } = await started(place, {});
      const [found, good] = await Promise.allSettled([
        dispatcher.result(odd),
        dispatcher.result("plain", { signal: AbortSignal.timeout(10_000) }),
      ]);
      expect(found).toMatchObject({ status: "rejected", reason: { code: "NOT_FOUND" } });
      expect(good).toMatchObject({ status: "fulfilled", value: { status: "succeeded" } });
      expect(await dispatcher.cancel(odd)).toBe("not_found");
      expect(await dispatcher.cancel([odd, "plain"])).toMatchObject({ notFound: 1, ended: 1 });
      expect(await dispatcher.requests({ ids: [odd, "plain"] })).toMatchObject({ requests: [{ id: "plain" }] });
    },
    20_000,
  );
});
