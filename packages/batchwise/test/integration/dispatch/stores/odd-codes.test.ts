// Providers that call anything a code: a NUL character, half an emoji, a long text. Every database
// takes the outcome, the caller reads the provider's own words, and the request is found by them.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDispatcher } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { afterAll, expect, test } from "vitest";
import { postgresPlace, redisPlace } from "../../services/kept.ts";
import { openStore, type Place } from "./open-store.ts";

const folder = mkdtempSync(join(tmpdir(), "batchwise-codes-"));
afterAll(() => rmSync(folder, { recursive: true }));

const places: readonly (readonly [name: string, place: () => Promise<Place>])[] = [
  ["SQLite", async () => ({ kind: "sqlite", path: join(folder, "codes.db") })],
  ["Postgres", async () => ({ kind: "postgres", config: await postgresPlace() })],
  ["Redis", async () => ({ kind: "redis", ...(await redisPlace()) })],
];

/** That no database makes much shorter: longer than an index of Postgres takes. */
function unlikeText(length: number): string {
  let state = 1;
  return Array.from({ length }, () => {
    state = (state * 48_271) % 2_147_483_647;
    return String.fromCharCode(0x4e00 + (state % 20_000));
  }).join("");
}

const CODES: Readonly<Record<string, string>> = {
  nul: "no\0thing",
  half: "cut \ud83d",
  long: unlikeText(3_000),
};

test.each(places)(
  "on %s, odd codes of a provider end their requests and no others",
  async (_name, place) => {
    const fake = fakeProvider({
      plan: { validateMs: 0, runMs: 20, finalizeMs: 0 },
      answer: ({ body }) => {
        const [, name = ""] = /say (\w+)/.exec(JSON.stringify(body)) ?? [];
        const code = CODES[name];
        if (code !== undefined) return { status: 400, body: { error: { message: `No: ${code}`, code } } };
        if (name === "again") return { status: 500, body: { error: { code: "a\0gain" } } };
        return { status: 200, body: { choices: [{ message: { content: "a" } }] } };
      },
    });
    const { store, end } = await openStore(await place());
    const client = new OpenAI({ apiKey: "k", baseURL: "http://fake.test/v1", fetch: fake.fetch });
    const told: unknown[] = [];
    const dispatcher = createDispatcher({
      store,
      accounts: [openaiAccount({ client, pollMs: 50 })],
      thresholds: { maxRequests: 5, maxAgeMs: 50 },
      onError: (error) => told.push(error),
    });
    const ids = [...Object.keys(CODES), "good", "again"];
    await dispatcher.enqueueMany(
      ids.map((id) => ({ id, body: { model: "m", messages: [{ role: "user", content: `say ${id}` }] } })),
    );
    await dispatcher.start();
    for (const [id, code] of Object.entries(CODES)) {
      expect((await dispatcher.result(id)).error).toEqual({ code, message: `No: ${code}` });
      const { requests } = await dispatcher.requests({ code });
      expect(requests.map((request) => request.id)).toEqual([id]);
      expect(await dispatcher.requests({ ids, code })).toMatchObject({ requests: [{ id }] });
    }
    expect(await dispatcher.result("good")).toMatchObject({ status: "succeeded" });
    expect(told).toEqual([]);
    await expect
      .poll(async () => (await store.requests({ ids: ["again"], history: true }))[0]?.history)
      .toHaveLength(1);
    await dispatcher.stop();
    await store.close();
    await end();
  },
  20_000,
);

test.each(places)(
  "on %s, counts of tokens that no request can have keep no result back",
  async (_name, place) => {
    const odd: readonly number[] = [1e30, 1.5, -1, Number.MAX_SAFE_INTEGER];
    const fake = fakeProvider({
      plan: { validateMs: 0, runMs: 20, finalizeMs: 0 },
      answer: ({ body }) => {
        const prompt_tokens = odd[Number(body.input)] ?? 3;
        return { status: 200, body: { usage: { prompt_tokens, total_tokens: prompt_tokens } } };
      },
    });
    const { store, end } = await openStore(await place());
    const client = new OpenAI({ apiKey: "k", baseURL: "http://fake.test/v1", fetch: fake.fetch });
    const dispatcher = createDispatcher({
      store,
      accounts: [openaiAccount({ client, pollMs: 50 })],
      thresholds: { maxRequests: 5, maxAgeMs: 50 },
    });
    const ids = ["0", "1", "2", "3", "4"];
    await dispatcher.enqueueMany(ids.map((id) => ({ id, job: "odd", body: { model: "m", input: id } })));
    await dispatcher.start();
    for (const id of ids) expect(await dispatcher.result(id)).toMatchObject({ status: "succeeded" });
    expect(await dispatcher.usage({ job: "odd" })).toMatchObject([{ inputTokens: 5 }]);
    await dispatcher.stop();
    await store.close();
    await end();
  },
  20_000,
);
