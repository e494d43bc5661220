// What every account must do, as one suite: run for each adapter, each with the official client of its provider against
// the strict fake, once inside the process and once over real sockets.

import {
  type FakeLine,
  type FakeOperation,
  type FakeOptions,
  type FakeProvider,
  fakeFaults,
  fakeProvider,
} from "batchwise/dispatch/testing";
import { type VirtualClock, virtualClock } from "batchwise/testing";
import { afterEach, describe, expect, test } from "vitest";
import type {
  Account,
  BatchInput,
  CallOptions,
  CreateInput,
  ProviderBatch,
  ResultLine,
} from "../../../src/dispatch/contract/account.ts";
import type { JsonObject } from "../../../src/dispatch/contract/types.ts";
import { customId } from "../../../src/dispatch/format/encode.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const KEY = "01JD3K9V7QX2ABCDEFGHJKMNPQ";
const START = Date.UTC(2026, 0, 1);

/** What the suite needs to know of an adapter. */
export interface AccountCase {
  readonly name: string;
  /** The fake's name of the call that makes a batch. */
  readonly create: FakeOperation;
  /** An account over the official client, which reaches the fake through `fetch` or at `url`. */
  account(target: { readonly fetch: FakeProvider["fetch"] } | { readonly url: string }): Account;
}

/** How the client reaches the fake. */
export type Reach = "in the process" | "over real sockets";

interface Rig {
  readonly fake: FakeProvider;
  readonly clock: VirtualClock;
  readonly account: Account;
}

export function accountSuite(each: AccountCase, reach: Reach): void {
  const servers: { close(): Promise<void> }[] = [];

  const rig: MakeRig = async (options = {}) => {
    const clock = virtualClock(START);
    const fake = fakeProvider({ clock, identify, ...options });
    if (reach === "in the process") return { fake, clock, account: each.account({ fetch: fake.fetch }) };
    const server = await fake.listen();
    servers.push(server);
    return { fake, clock, account: each.account({ url: server.url }) };
  };

  describe(`${each.name}, ${reach}`, () => {
    afterEach(async () => {
      for (const server of servers.splice(0)) await server.close();
    });
    describe("on a good day", () => sendsAndFinds(each, rig));
    describe("when a create fails", () => classifiesCreates(each, rig));
    describe("at the end of a batch", () => readsResults(rig));
  });
}

type MakeRig = (options?: FakeOptions) => Promise<Rig>;

function sendsAndFinds(each: AccountCase, rig: MakeRig): void {
  test("sends a batch once and gives every request its answer in OpenAI's shape", async () => {
    const { fake, clock, account } = await rig();
    const created = await submit(account, 20);
    expect(created).toMatchObject({ createdAt: START, expiresAt: START + 24 * HOUR, resultRefs: [], failure: null });
    expect(fake.calls(each.create)).toBe(1);
    await clock.advance(HOUR);
    const done = await account.retrieve(created.id, call());
    expect(done).toMatchObject({ id: created.id, state: "done", total: 20, settled: 20 });
    const lines = await collect(account, done);
    expect(lines.map((line) => line.customId).toSorted()).toEqual(names(20));
    for (const line of lines) expectAnswer(line);
    expect([...fake.runs().values()]).toEqual(Array.from({ length: 20 }, () => 1));
  });

  test("finds its batch in the list by what it left there", async () => {
    const { fake, account } = await rig();
    fake.addForeign({ requests: 4, surface: each.create === "messages.create" ? "anthropic" : "openai" });
    const created = await submit(account, 3);
    const { batches } = await account.list({ cursor: null, limit: 100 }, call());
    expect(batches).toHaveLength(2);
    const found = batches.filter((batch) => isOurs(account, batch, created));
    expect(found.map(({ id }) => id)).toEqual([created.id]);
  });

  test("lists page by page to the end", async () => {
    const { account } = await rig();
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push((await submit(account, 1)).id);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<Account["list"]>> = await account.list({ cursor, limit: 2 }, call());
      seen.push(...page.batches.map(({ id }) => id));
      cursor = page.next;
    } while (cursor !== null);
    expect(seen).toEqual(ids.toReversed());
  });

  test("tells running from waiting and never takes a strange state for an end", async () => {
    const { fake, clock, account } = await rig();
    fake.planNext({ strangeState: "pondering", stateCase: "capitalised" });
    const created = await submit(account, 4);
    await clock.advance(2 * MINUTE);
    expect((await account.retrieve(created.id, call()))?.state).toBe("running");
  });

  test("says null for a batch that nobody knows", async () => {
    const { account } = await rig();
    expect(await account.retrieve("batch_none", call())).toBeNull();
  });
}

function classifiesCreates(each: AccountCase, rig: MakeRig): void {
  test("sends a create once even when the connection is lost, and calls the outcome unknown", async () => {
    const { fake, account } = await rig();
    for (const fault of [fakeFaults.acceptThenDrop, fakeFaults.rejectThenDrop, fakeFaults.errorAfterAccept]) {
      fake.inject(fault);
      const before = fake.calls(each.create);
      const error = await failure(submit(account, 2));
      expect(fake.calls(each.create)).toBe(before + 1);
      expect(account.classify(error, "create").kind).toBe("unknown");
    }
    expect(fake.batches()).toHaveLength(2);
  });

  test.each([
    [400, "invalidRequest"],
    [401, "authOrBilling"],
    [403, "authOrBilling"],
    [404, "definitelyNotCreated"],
    [408, "unknown"],
    [409, "unknown"],
    [413, "invalidRequest"],
    [500, "unknown"],
    [503, "unknown"],
  ] as const)("classifies an answer %i to a create as %s", async (status, kind) => {
    const { fake, account } = await rig();
    fake.inject({ on: each.create, accept: false, reply: { status } });
    const classified = account.classify(await failure(submit(account, 1)), "create");
    expect(classified.kind).toBe(kind);
    expect(classified.message).toContain(`Scripted answer ${status}`);
    expect(fake.calls(each.create)).toBe(1);
  });

  test("reads how long to wait from a 429", async () => {
    const { fake, account } = await rig();
    fake.inject(fakeFaults.rateLimited);
    const classified = account.classify(await failure(submit(account, 1)), "create");
    expect(classified).toMatchObject({ kind: "rateLimited", retryAfterMs: 30_000 });
  });

  test("knows when the money is gone", async () => {
    const { fake, account } = await rig();
    fake.inject(each.create === "messages.create" ? fakeFaults.creditExhausted : fakeFaults.quotaExhausted);
    expect(account.classify(await failure(submit(account, 1)), "create").kind).toBe("authOrBilling");
  });

  test("gives a create up when told to, without knowing what became of it", async () => {
    const { fake, clock, account } = await rig();
    fake.inject({ on: each.create, delayMs: 90_000 });
    const giveUp = new AbortController();
    const lost = failure(submit(account, 1, { signal: giveUp.signal, timeoutMs: 60_000 }));
    while (fake.calls(each.create) === 0) await clock.settle();
    giveUp.abort();
    expect(account.classify(await lost, "create").kind).toBe("unknown");
    expect(fake.batches()).toEqual([]);
    await clock.advance(90_000);
    expect(fake.batches()).toHaveLength(1);
  });
}

function readsResults(rig: MakeRig): void {
  test("rejects when a download is cut, and reads it whole the next time", async () => {
    const { fake, clock, account } = await rig();
    const created = await submit(account, 30);
    await clock.advance(HOUR);
    const done = await account.retrieve(created.id, call());
    fake.inject(fakeFaults.cutDownload);
    await failure(collect(account, done));
    expect(await collect(account, done)).toHaveLength(30);
  });

  test("gives what ran and says of the rest that the batch expired", async () => {
    const { clock, account } = await rig({ plan: { runMs: 48 * HOUR } });
    const created = await submit(account, 10);
    await clock.advance(24 * HOUR);
    const expired = await account.retrieve(created.id, call());
    expect(expired?.state).toBe("expired");
    const lines = await collect(account, expired);
    expect(lines.map((line) => line.customId).toSorted()).toEqual(names(10));
    const rest = lines.filter((line) => line.error !== null);
    expect(rest).toHaveLength(6);
    for (const line of rest) expect(line).toMatchObject({ response: null, error: { code: "batch_expired" } });
  });

  test("cancels, and gives what had run by then", async () => {
    const { clock, account } = await rig();
    const created = await submit(account, 10);
    await clock.advance(11 * MINUTE);
    expect((await account.cancel(created.id, call())).state).toBe("cancelling");
    await clock.advance(2 * MINUTE);
    const cancelled = await account.retrieve(created.id, call());
    expect(cancelled?.state).toBe("cancelled");
    const codes = (await collect(account, cancelled)).map(({ error }) => error?.code ?? "none");
    expect(codes.toSorted()).toEqual([...Array(5).fill("batch_cancelled"), ...Array(5).fill("none")]);
  });

  test("takes the cancel of an ended batch for no error", async () => {
    const { clock, account } = await rig();
    const created = await submit(account, 2);
    await clock.advance(HOUR);
    expect((await account.cancel(created.id, call())).state).toBe("done");
  });

  test("gives a failed item with its status, code and message", async () => {
    const error = { type: "rate_limit_error", code: "rate_limit_exceeded", message: "Slow down." };
    const answer = (): { status: number; body: JsonObject } => ({ status: 429, body: { error } });
    const { clock, account } = await rig({ answer });
    const created = await submit(account, 1);
    await clock.advance(HOUR);
    const [line] = await collect(account, await account.retrieve(created.id, call()));
    expect(line).toMatchObject({ response: { statusCode: 429 }, error: { message: "Slow down." }, usage: null });
    expect(line?.response?.body.error).toMatchObject({ message: "Slow down." });
  });

  test("passes on missing and repeated lines as they come", async () => {
    const { clock, account } = await rig({ plan: { missingLines: 2, duplicateLines: 1 } });
    const created = await submit(account, 5);
    await clock.advance(HOUR);
    const lines = await collect(account, await account.retrieve(created.id, call()));
    expect(lines).toHaveLength(4);
    expect(new Set(lines.map((line) => line.customId)).size).toBe(3);
  });
}

function identify({ body }: FakeLine): string {
  return JSON.stringify(body.messages);
}

function call(): CallOptions {
  return { signal: new AbortController().signal, timeoutMs: 10_000.5 };
}

async function failure(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error("Expected a rejection.");
}

function names(count: number): string[] {
  return Array.from({ length: count }, (_, ord) => customId(KEY, ord));
}

/** The way of the dispatcher: encode, upload where files are used, create with the tag. */
async function submit(account: Account, count: number, options: CallOptions = call()): Promise<ProviderBatch> {
  const lines = names(count).map((name, ord) => {
    const body = { model: "model-a", messages: [{ role: "user", content: `text ${ord}` }] };
    account.checkBody("/v1/chat/completions", body);
    return account.encodeLine({ customId: name, endpoint: "/v1/chat/completions", body: JSON.stringify(body) });
  });
  const input = inputOf(lines);
  const uploaded = await account.upload?.(input, call());
  const create: CreateInput = {
    key: KEY,
    attempt: 1,
    endpoint: "/v1/chat/completions",
    model: "model-a",
    input: uploaded ?? input,
  };
  return account.create(create, options);
}

export function inputOf(lines: readonly string[]): BatchInput {
  return {
    fileName: `${KEY}-1.jsonl`,
    requests: lines.length,
    bytes: lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0),
    async *lines() {
      yield* lines;
    },
  };
}

async function collect(account: Account, batch: ProviderBatch | null): Promise<ResultLine[]> {
  const lines: ResultLine[] = [];
  if (batch === null) throw new Error("Expected a batch.");
  for await (const line of account.results(batch, call())) lines.push(line);
  return lines;
}

function expectAnswer(line: ResultLine): void {
  const ord = Number(line.customId.slice(-7));
  expect(line).toMatchObject({
    error: null,
    response: { statusCode: 200, body: { object: "chat.completion", model: "model-a" } },
  });
  expect(line.response?.body.choices).toMatchObject([
    { finish_reason: "stop", message: { role: "assistant", content: `echo: text ${ord}` } },
  ]);
  const usage = line.response?.body.usage as { readonly prompt_tokens: number; readonly completion_tokens: number };
  expect(usage.prompt_tokens).toBeGreaterThan(0);
  expect(line.usage).toEqual({
    inputTokens: usage.prompt_tokens,
    outputTokens: usage.completion_tokens,
    totalTokens: usage.prompt_tokens + usage.completion_tokens,
  });
}

function isOurs(account: Account, seen: ProviderBatch, created: ProviderBatch): boolean {
  switch (account.capabilities.tag) {
    case "metadata":
      return seen.tag?.key === KEY && seen.tag.attempt === 1;
    case "inputFile":
      return seen.inputFileId === created.inputFileId;
    default:
      return seen.total === 3;
  }
}
