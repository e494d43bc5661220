// An uploaded file that the provider has not processed yet: it is waited for and used, and counts
// as no failure.

import { GoogleGenAI } from "@google/genai";
import { geminiAccount } from "batchwise/dispatch/gemini";
import { openaiAccount, openaiServices } from "batchwise/dispatch/openai";
import { type FakeFault, type FakeOptions, type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import type { Account } from "../../../../src/dispatch/contract/account.ts";
import { drive } from "../../support/drive.ts";
import { isAtRest, world } from "../../support/world.ts";

const MINUTE = 60_000;
const names = ["r0", "r1", "r2"];

const openai = ({ fetch }: FakeProvider): OpenAI =>
  new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch });
const gemini = ({ fetch }: FakeProvider): Account => {
  const httpOptions = { baseUrl: "http://fake.test", fetch };
  return geminiAccount({ client: new GoogleGenAI({ apiKey: "key", httpOptions }), maxInlineBytes: 0 });
};
const voyage = { ...openaiServices.openai, processesFiles: true };

async function dispatched(
  account: (fake: FakeProvider) => Account,
  options: FakeOptions,
  faults: readonly FakeFault[] = [],
) {
  const { time, store, start } = world();
  const fake = fakeProvider({ clock: time, ...options });
  for (const fault of faults) fake.inject(fault);
  const told: string[] = [];
  const onError = (error: unknown): number => told.push((error as Error).message);
  const dispatcher = await start({
    accounts: [account(fake)],
    thresholds: { maxRequests: 3, maxAgeMs: MINUTE },
    onError,
  });
  await dispatcher.enqueueMany(
    names.map((id) => ({ id, body: { model: "m", messages: [{ role: "user", content: id }] } })),
  );
  await drive(time, fake, () => isAtRest(store, time.now()));
  const records = await store.requests({ ids: names, limit: names.length });
  const [batch] = fake.batches();
  const begunAfterMs = (batch?.acceptedAt ?? Infinity) - (records[0]?.createdAt ?? 0);
  await dispatcher.stop();
  const succeeded = records.map(({ ended, attempts }) => [ended?.status, attempts]);
  return { fake, told, succeeded, begunAfterMs };
}

const all = names.map(() => ["succeeded", 1]);

describe("a file that is pending for five minutes", () => {
  test.each<[string, (fake: FakeProvider) => Account, FakeOptions]>([
    ["Azure", (fake) => openaiAccount({ client: openai(fake), service: "azure" }), { dialect: "azure" }],
    ["a service of a record of the user's", (fake) => openaiAccount({ client: openai(fake), service: voyage }), {}],
    ["Gemini", gemini, {}],
  ])("at %s is polled until it is processed, and sent in one create", async (_name, account, options) => {
    const { fake, told, succeeded, begunAfterMs } = await dispatched(account, {
      ...options,
      filesPendingMs: 5 * MINUTE,
    });
    expect(succeeded).toEqual(all);
    const calls = [fake.calls("files.create"), fake.calls("batches.create"), fake.calls("gemini.create")];
    expect(calls.toSorted()).toEqual(fake.calls("gemini.create") === 1 ? [0, 0, 1] : [0, 1, 1]);
    expect(fake.calls("files.retrieve") + fake.calls("geminiFiles.retrieve")).toBeLessThan(40);
    expect(begunAfterMs).toBeLessThan(5 * MINUTE + 20_000);
    expect(told).toEqual([]);
  });

  test("at a service that does not show its state is tried again within seconds, as it is", async () => {
    const { fake, succeeded, begunAfterMs } = await dispatched((each) => openaiAccount({ client: openai(each) }), {
      filesPendingMs: 5 * MINUTE,
    });
    expect(succeeded).toEqual(all);
    expect([fake.calls("files.create"), fake.batches().length]).toEqual([1, 1]);
    expect(fake.calls("batches.create")).toBeLessThan(40);
    expect(begunAfterMs).toBeLessThan(5 * MINUTE + 20_000);
  });
});

describe("a create that is refused because of its file", () => {
  test.each([
    [400, "File is not ready"],
    [404, "Input file not found"],
    [409, "The file file-1 is still being processed."],
  ])("with %i and %s is made again with the same file", async (status, message) => {
    const reply = { status, body: { error: { message, type: "invalid_request_error", code: null } } };
    const faults = [{ on: "batches.create", accept: false, times: 3, reply }] as const;
    const { fake, succeeded, begunAfterMs } = await dispatched(
      (each) => openaiAccount({ client: openai(each) }),
      {},
      faults,
    );
    expect(succeeded).toEqual(all);
    expect([fake.calls("files.create"), fake.calls("batches.create"), fake.batches().length]).toEqual([1, 4, 1]);
    expect(begunAfterMs).toBeLessThan(30_000);
  });

  test("for more than an hour uploads it again, and suspects no request", async () => {
    const until = Date.UTC(2026, 0, 5, 8) + 150 * MINUTE;
    const reply = { status: 404, body: { error: { message: "Input file not found", code: null } } };
    const faults = [{ on: "batches.create", accept: false, until, reply }] as const;
    const { fake, succeeded } = await dispatched((each) => openaiAccount({ client: openai(each) }), {}, faults);
    expect(succeeded).toEqual(all);
    expect([fake.calls("files.create"), fake.batches().length]).toEqual([3, 1]);
  });
});
