import type { FakeOptions } from "batchwise/dispatch/testing";
import { virtualClock } from "batchwise/testing";
import type OpenAI from "openai";
import { toFile } from "openai";
import { describe, expect, test } from "vitest";
import { HOUR, line, lines, results, rig, submit, upload } from "./tools.ts";

describe("a batch at the fake", () => {
  test("goes through its states and answers every line once, in no order", async () => {
    const { client, clock, fake } = rig();
    const batch = await submit(client, lines(20), { bk: "tag" });
    expect(batch).toMatchObject({ status: "validating", metadata: { bk: "tag" }, request_counts: { total: 0 } });
    await clock.advance(10 * 60_000);
    const running = await client.batches.retrieve(batch.id);
    expect(running.status).toBe("in_progress");
    expect(running.request_counts?.completed).toBeGreaterThan(0);
    expect(running.request_counts?.completed).toBeLessThan(20);
    await clock.advance(11 * 60_000 + 1);
    expect((await client.batches.retrieve(batch.id)).status).toBe("finalizing");
    await clock.advance(HOUR);
    const done = await client.batches.retrieve(batch.id);
    expect(done).toMatchObject({
      status: "completed",
      error_file_id: null,
      request_counts: { completed: 20, failed: 0 },
    });
    const answered = (await results(client, done.output_file_id)).map(({ custom_id }) => custom_id);
    expect(answered.toSorted()).toEqual(
      lines(20)
        .map((_, n) => `line_${n}`)
        .toSorted(),
    );
    expect(answered).not.toEqual(answered.toSorted());
    expect([...fake.runs()]).toHaveLength(20);
    expect(new Set(fake.runs().values())).toEqual(new Set([1]));
  });

  test("counts a line that two batches ran twice", async () => {
    const { client, clock, fake } = rig();
    await submit(client, lines(2));
    await submit(client, [line(1, { custom_id: "again" })]);
    await clock.advance(HOUR);
    expect(Object.fromEntries(fake.runs())).toEqual({ "user-0": 1, "user-1": 2 });
  });

  test("expires with the finished lines at the end of the window", async () => {
    const { client, clock } = rig({ plan: { runMs: 48 * HOUR } });
    const batch = await submit(client, lines(10));
    await clock.advance(24 * HOUR);
    const expired = await client.batches.retrieve(batch.id);
    expect(expired.status).toBe("expired");
    expect(await results(client, expired.output_file_id)).toHaveLength(4);
    const errors = await results(client, expired.error_file_id);
    expect(errors.map(({ error }) => error?.code)).toEqual(Array.from({ length: 6 }, () => "batch_expired"));
  });

  test("expires with nothing when configured so", async () => {
    const { client, clock } = rig({ plan: { runMs: 48 * HOUR, expiredShare: 0 } });
    const batch = await submit(client, lines(3));
    await clock.advance(25 * HOUR);
    const expired = await client.batches.retrieve(batch.id);
    expect(expired.output_file_id).toBeNull();
    expect(await results(client, expired.error_file_id)).toHaveLength(3);
  });

  test("ends cancelled some time after the cancel, with the finished lines", async () => {
    const { client, clock, fake } = rig();
    const batch = await submit(client, lines(10));
    await clock.advance(11 * 60_000);
    expect((await client.batches.cancel(batch.id)).status).toBe("cancelling");
    await clock.advance(2 * 60_000);
    const cancelled = await client.batches.retrieve(batch.id);
    expect(cancelled.status).toBe("cancelled");
    expect(await results(client, cancelled.output_file_id)).toHaveLength(5);
    expect(await results(client, cancelled.error_file_id)).toHaveLength(5);
    expect(fake.runs().size).toBe(5);
    const statuses = fake.executions().map(({ status }) => status);
    expect(statuses).toEqual([...Array(5).fill(200), ...Array(5).fill(null)]);
    expect((await client.batches.cancel(batch.id)).status).toBe("cancelled");
  });

  test("may complete although it is being cancelled", async () => {
    const { client, clock } = rig({ plan: { completesDespiteCancel: true, cancelMs: HOUR } });
    const batch = await submit(client, lines(3));
    await client.batches.cancel(batch.id);
    await clock.advance(HOUR);
    expect((await client.batches.retrieve(batch.id)).status).toBe("completed");
    await expect(client.batches.cancel(batch.id)).rejects.toMatchObject({ status: 409 });
  });

  test("names no output file when every line failed", async () => {
    const answer = (): { status: number; body: object & { readonly [key: string]: string } } => ({
      status: 400,
      body: {},
    });
    const { client, clock } = rig({ answer });
    const batch = await submit(client, lines(2));
    await clock.advance(HOUR);
    const done = await client.batches.retrieve(batch.id);
    expect(done).toMatchObject({
      status: "completed",
      output_file_id: null,
      request_counts: { completed: 0, failed: 2 },
    });
    expect((await results(client, done.error_file_id)).map(({ response }) => response?.status_code)).toEqual([
      400, 400,
    ]);
  });
});

describe("validation, after the batch was accepted", () => {
  test.each([
    ["a line that is not JSON", "{]", "invalid_json_line", 1],
    ["no custom id", [line(0), line(1, { custom_id: undefined })], "missing_required_parameter", 2],
    ["a custom id with a space", [line(0, { custom_id: "a b" })], "invalid_custom_id", 1],
    ["a custom id of 65 characters", [line(0, { custom_id: "a".repeat(65) })], "invalid_custom_id", 1],
    ["the same custom id twice", [line(0), line(0)], "duplicate_custom_id", 2],
    ["another endpoint", [line(0, { url: "/v1/embeddings" })], "url_mismatch", 1],
    ["no model", [line(0, {}, { model: undefined })], "missing_required_parameter", 1],
    ["two models", [line(0), line(1, {}, { model: "model-b" })], "mismatched_model", 2],
    ["a model that is not there", [line(0, {}, { model: "model-z" })], "model_not_found", 1],
    ["streaming", [line(0, {}, { stream: true })], "streaming_unsupported", 1],
    ["a body that is a text", [line(0, { body: "{}" })], "invalid_request", 1],
  ])("fails a batch with %s", async (_case, content, code, at) => {
    const { client, clock, fake } = rig({ models: ["model-a", "model-b"] });
    const batch = await submit(client, content);
    expect(batch.status).toBe("validating");
    await clock.advance(HOUR);
    const failed = await client.batches.retrieve(batch.id);
    expect(failed.status).toBe("failed");
    expect(failed.errors?.data?.[0]).toMatchObject({ code, line: at });
    expect(fake.executions()).toEqual([]);
  });

  test("fails a file with too many lines", async () => {
    const { client, clock } = rig({ limits: { maxLines: 2 } });
    const batch = await submit(client, lines(3));
    await clock.advance(HOUR);
    expect((await client.batches.retrieve(batch.id)).errors?.data?.[0]?.code).toBe("too_many_tasks");
  });

  test.each([
    [2, "completed"],
    [3, "failed"],
  ])("takes %i texts to embed in one file of at most 4 with another line of two: %s", async (count, status) => {
    const { client, clock } = rig({ limits: { maxEmbeddingInputs: 4 } });
    const embed = (n: number, input: unknown): object => {
      const body = { model: "model-a", input };
      return { custom_id: `line_${n}`, method: "POST", url: "/v1/embeddings", body };
    };
    const input_file_id = await upload(client, [embed(0, ["a", "b"]), embed(1, Array(count).fill("c"))]);
    const endpoint = "/v1/embeddings";
    const batch = await client.batches.create({ input_file_id, endpoint, completion_window: "24h" });
    await clock.advance(HOUR);
    const ended = await client.batches.retrieve(batch.id);
    expect(ended.status).toBe(status);
    const [first] = await results(client, ended.output_file_id);
    if (status === "completed") expect(first?.response?.body.data).toMatchObject([{ object: "embedding" }, {}]);
  });

  test("fails a batch over the enqueued tokens, and the failed one still counts for a while", async () => {
    const { client, clock } = rig({ limits: { enqueuedTokens: 100, failedCountsForMs: 10 * HOUR } });
    const send = async (n: number): Promise<OpenAI.Batch> => {
      const messages = [{ role: "user", content: "word ".repeat(60) }];
      const batch = await submit(client, [line(n, {}, { messages })]);
      await clock.advance(2 * 60_000);
      return client.batches.retrieve(batch.id);
    };
    expect((await send(0)).status).toBe("in_progress");
    const failed = await send(1);
    expect(failed.errors?.data?.[0]).toMatchObject({ code: "token_limit_exceeded", line: null });
    expect(failed.errors?.data?.[0]?.message).toContain("Limit: 100 enqueued tokens");
    await clock.advance(4 * HOUR);
    expect((await send(2)).status).toBe("failed");
    await clock.advance(11 * HOUR);
    expect((await send(3)).status).toBe("in_progress");
  });
});

describe("a call that is refused at once", () => {
  test("an empty file, another purpose, another name, a file over the limit", async () => {
    const { client } = rig({ limits: { maxFileBytes: 100 } });
    const file = (text: string, name: string): Promise<File> => toFile(Buffer.from(text), name);
    const create = async (text: string, name: string, purpose: OpenAI.FilePurpose): Promise<unknown> =>
      client.files.create({ file: await file(text, name), purpose });
    await expect(create("", "a.jsonl", "batch")).rejects.toMatchObject({ status: 400, code: "empty_file" });
    await expect(create("{}", "a.jsonl", "vision")).rejects.toMatchObject({ status: 400, param: "purpose" });
    await expect(create("{}", "a.txt", "batch")).rejects.toMatchObject({ status: 400 });
    await expect(create("x".repeat(101), "a.jsonl", "batch")).rejects.toMatchObject({ status: 413 });
  });

  test.each([
    ["another window", { completion_window: "48h" }, 400],
    ["another endpoint", { endpoint: "/v1/chat" }, 400],
    ["a file that is not there", { input_file_id: "file-0" }, 404],
    ["metadata with a long value", { metadata: { key: "x".repeat(513) } }, 400],
    ["metadata with 17 pairs", { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [n, "x"])) }, 400],
  ])("a create with %s", async (_case, changes, status) => {
    const { client } = rig();
    const input_file_id = await upload(client, lines(1));
    const body = { input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h", ...changes };
    await expect(client.batches.create(body as OpenAI.BatchCreateParams)).rejects.toMatchObject({ status });
  });

  test("the create beyond the hourly limit", async () => {
    const { client, clock } = rig({ limits: { createsPerHour: 1 } });
    await submit(client, lines(1));
    await expect(submit(client, lines(1))).rejects.toMatchObject({ status: 429 });
    await clock.advance(HOUR);
    await submit(client, lines(1));
  });

  test("a call without a key", async () => {
    const { fake } = rig();
    const answer = await fake.fetch("http://fake.test/v1/batches");
    expect(answer.status).toBe(401);
  });
});

describe("files", () => {
  test("are listed by name, read, deleted, and gone after their retention", async () => {
    const { client, clock } = rig({ fileRetentionMs: HOUR });
    const first = await upload(client, lines(1));
    const second = await upload(client, lines(2));
    const listed = await client.files.list();
    expect(listed.data.map(({ id, filename }) => [id, filename])).toEqual([
      [second, "input.jsonl"],
      [first, "input.jsonl"],
    ]);
    await client.files.delete(second);
    await expect(client.files.retrieve(second)).rejects.toMatchObject({ status: 404 });
    await clock.advance(HOUR);
    await expect(client.files.content(first)).rejects.toMatchObject({ status: 404 });
  });
});

test("gives other ids with another seed, and when it starts again later", async () => {
  const idsOf = async (options: FakeOptions): Promise<string[]> => {
    const { client } = rig(options);
    const { id, input_file_id } = await submit(client, lines(1));
    return [id, input_file_id];
  };
  const first = await idsOf({});
  expect(await idsOf({})).toEqual(first);
  const later = virtualClock(Date.UTC(2026, 0, 1) + 1);
  const others = [...(await idsOf({ seed: 2 })), ...(await idsOf({ clock: later }))];
  expect(new Set([...first, ...others]).size).toBe(6);
});

test("lists page by page, newest first, through the client's own iterator", async () => {
  const { client, fake } = rig();
  const ids: string[] = [];
  for (let n = 0; n < 5; n += 1) ids.push((await submit(client, lines(1))).id);
  const seen: string[] = [];
  for await (const batch of client.batches.list({ limit: 2 })) seen.push(batch.id);
  expect(seen).toEqual(ids.toReversed());
  expect(fake.calls("batches.list")).toBe(3);
  await expect(client.batches.list({ limit: 101 })).rejects.toMatchObject({ status: 400 });
});
