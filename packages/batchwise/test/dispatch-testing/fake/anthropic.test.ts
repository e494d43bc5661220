import Anthropic from "@anthropic-ai/sdk";
import { type FakeOptions, type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import { type VirtualClock, virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { HOUR } from "./tools.ts";

type Params = Anthropic.MessageCreateParamsNonStreaming;

interface Rig {
  readonly fake: FakeProvider;
  readonly clock: VirtualClock;
  readonly client: Anthropic;
}

function rig(options: FakeOptions = {}): Rig {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const fake = fakeProvider({ clock, ...options });
  const client = new Anthropic({ apiKey: "key", baseURL: "http://fake.test", fetch: fake.fetch, maxRetries: 0 });
  return { fake, clock, client };
}

function item(n: number, changes: object = {}): { custom_id: string; params: Params } {
  const messages: Params["messages"] = [{ role: "user", content: `text ${n}` }];
  return { custom_id: `item_${n}`, params: { model: "model-a", max_tokens: 10, messages, ...changes } };
}

async function outcomes(client: Anthropic, id: string): Promise<Record<string, string>> {
  const seen: Record<string, string> = {};
  for await (const { custom_id, result } of await client.messages.batches.results(id)) seen[custom_id] = result.type;
  return seen;
}

describe("a message batch at the fake", () => {
  test("counts all items as processing until it has ended", async () => {
    const { client, clock } = rig();
    const batch = await client.messages.batches.create({ requests: [item(0), item(1)] });
    await clock.advance(10 * 60_000);
    const running = await client.messages.batches.retrieve(batch.id);
    expect(running).toMatchObject({
      processing_status: "in_progress",
      results_url: null,
      request_counts: { processing: 2 },
    });
    await clock.advance(HOUR);
    const ended = await client.messages.batches.retrieve(batch.id);
    expect(ended).toMatchObject({ processing_status: "ended", request_counts: { processing: 0, succeeded: 2 } });
    expect(await outcomes(client, batch.id)).toEqual({ item_0: "succeeded", item_1: "succeeded" });
  });

  test("looks at the params of an item only when it runs", async () => {
    const { client, clock } = rig();
    const requests = [item(0), item(1, { temperature: 3 }), item(2, { max_tokens: undefined })];
    const batch = await client.messages.batches.create({ requests });
    await clock.advance(HOUR);
    expect(await outcomes(client, batch.id)).toEqual({ item_0: "succeeded", item_1: "errored", item_2: "errored" });
  });

  test("keeps results for 29 days", async () => {
    const { client, clock } = rig();
    const batch = await client.messages.batches.create({ requests: [item(0)] });
    await clock.advance(29 * 24 * HOUR);
    expect((await client.messages.batches.retrieve(batch.id)).results_url).toBeNull();
  });

  test("is deleted only when it has ended; its finished requests still count", async () => {
    const { client, clock, fake } = rig();
    const batch = await client.messages.batches.create({ requests: [item(0)] });
    await expect(client.messages.batches.delete(batch.id)).rejects.toMatchObject({ status: 400 });
    await clock.advance(HOUR);
    await client.messages.batches.delete(batch.id);
    await expect(client.messages.batches.retrieve(batch.id)).rejects.toMatchObject({ status: 404 });
    expect((await client.messages.batches.list()).data).toEqual([]);
    expect(fake.runs().size).toBe(1);
  });

  test("is listed newest first, forwards and backwards", async () => {
    const { client } = rig();
    const ids: string[] = [];
    for (let n = 0; n < 4; n += 1) ids.unshift((await client.messages.batches.create({ requests: [item(n)] })).id);
    const seen: string[] = [];
    for await (const batch of client.messages.batches.list({ limit: 3 })) seen.push(batch.id);
    expect(seen).toEqual(ids);
    const before = await client.messages.batches.list({ limit: 2, before_id: ids[3] as string });
    expect(before.data.map(({ id }) => id)).toEqual(ids.slice(1, 3));
    expect(before.has_more).toBe(true);
  });
});

describe("a call that is refused at once", () => {
  test.each<[string, object[], FakeOptions, number]>([
    ["no items", [], {}, 400],
    ["a custom id with a colon", [{ ...item(0), custom_id: "a:b" }], {}, 400],
    ["a custom id of 65 characters", [{ ...item(0), custom_id: "a".repeat(65) }], {}, 400],
    ["a custom id twice", [item(0), item(0)], {}, 400],
    ["too many items", [item(0), item(1)], { limits: { maxItems: 1 } }, 400],
    ["too many bytes", [item(0)], { limits: { maxBodyBytes: 50 } }, 413],
    ["more than may be enqueued", [item(0), item(1)], { limits: { enqueuedItems: 1 } }, 429],
  ])("%s", async (_case, requests, options, status) => {
    const { client, fake } = rig(options);
    const body = { requests: requests as ReturnType<typeof item>[] };
    await expect(client.messages.batches.create(body)).rejects.toMatchObject({ status });
    expect(fake.batches()).toEqual([]);
  });

  test("a call without a key", async () => {
    const { fake } = rig();
    const answer = await fake.fetch("http://fake.test/v1/messages/batches");
    expect(answer.status).toBe(401);
    expect(await answer.json()).toMatchObject({ type: "error", error: { type: "authentication_error" } });
  });
});

test("a stranger's batch is listed among ours", async () => {
  const { client, fake } = rig();
  fake.addForeign({ surface: "anthropic", requests: 5 });
  const { data } = await client.messages.batches.list();
  expect(data[0]?.request_counts.processing).toBe(5);
  expect(fake.batches()).toMatchObject([{ surface: "anthropic", foreign: true, requests: 5 }]);
});

describe("the prompt cache at the fake", () => {
  const MINUTE = 60_000;
  const system = (ttl: "5m" | "1h"): Params["system"] => [
    { type: "text", text: "Long instructions.".repeat(100), cache_control: { type: "ephemeral", ttl } },
  ];

  async function usages({ client, clock }: Rig, count: number, ttl: "5m" | "1h", ms = 30 * MINUTE) {
    const requests = Array.from({ length: count }, (_, n) => item(n, { system: system(ttl) }));
    const { id } = await client.messages.batches.create({ requests });
    await clock.advance(ms);
    const seen: Anthropic.Usage[] = [];
    for await (const { result } of await client.messages.batches.results(id)) {
      if (result.type === "succeeded") seen.push(result.message.usage);
    }
    return {
      read: seen.filter(({ cache_read_input_tokens: tokens }) => (tokens ?? 0) > 0).length,
      written: seen.filter(({ cache_creation_input_tokens: tokens }) => (tokens ?? 0) > 0).length,
    };
  }

  test("gives nothing to items of one cold batch, and all to those of the next", async () => {
    const one = rig({ plan: { runMs: 30 * MINUTE, validateMs: 0, finalizeMs: 0 } });
    expect(await usages(one, 5, "1h")).toEqual({ read: 0, written: 5 });
    expect(await usages(one, 5, "1h")).toEqual({ read: 5, written: 0 });
  });

  test("forgets a prefix at the end of its time to live", async () => {
    const one = rig({ plan: { runMs: 30 * MINUTE, validateMs: 0, finalizeMs: 0 } });
    await usages(one, 1, "1h");
    await one.clock.advance(60 * MINUTE);
    expect(await usages(one, 1, "1h")).toEqual({ read: 0, written: 1 });
    await usages(one, 1, "5m");
    expect(await usages(one, 1, "5m", 35 * MINUTE)).toEqual({ read: 1, written: 0 });
    expect(await usages(one, 1, "5m")).toEqual({ read: 0, written: 1 });
  });

  test("gives nothing to a batch that began before the first one had ended", async () => {
    const one = rig({ plan: { runMs: 30 * MINUTE, validateMs: 0, finalizeMs: 0 } });
    await one.client.messages.batches.create({ requests: [item(9, { system: system("1h") })] });
    await one.clock.advance(29 * MINUTE);
    expect(await usages(one, 2, "1h")).toEqual({ read: 0, written: 2 });
  });

  test("counts nothing for requests without a mark", async () => {
    const { client, clock } = rig();
    const { id } = await client.messages.batches.create({ requests: [item(0, { system: "Long." })] });
    await clock.advance(HOUR);
    for await (const { result } of await client.messages.batches.results(id)) {
      expect(result.type === "succeeded" && result.message.usage.cache_read_input_tokens).toBeUndefined();
    }
  });
});
