import { type FakeOptions, fakeFaults, fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { HOUR, lines, results, rig, submit, upload } from "./tools.ts";

const create = { endpoint: "/v1/chat/completions", completion_window: "24h" } as const;

describe("scripted faults", () => {
  test("accept, then drop: the client sees a lost connection, the batch runs", async () => {
    const { client, clock, fake } = rig();
    const input_file_id = await upload(client, lines(3));
    fake.inject({ on: "batches.create", reply: "drop" });
    await expect(client.batches.create({ ...create, input_file_id })).rejects.toThrow(OpenAI.APIConnectionError);
    await clock.advance(HOUR);
    expect(fake.runs().size).toBe(3);
  });

  test("reject, then drop: the client sees the same, nothing runs", async () => {
    const { client, clock, fake } = rig();
    const input_file_id = await upload(client, lines(3));
    fake.inject({ on: "batches.create", accept: false, reply: "drop" });
    await expect(client.batches.create({ ...create, input_file_id })).rejects.toThrow(OpenAI.APIConnectionError);
    await clock.advance(HOUR);
    expect(fake.batches()).toEqual([]);
  });

  test("a slow accept happens after the client has given up", async () => {
    const { client, clock, fake } = rig();
    const input_file_id = await upload(client, lines(1));
    fake.inject({ on: "batches.create", delayMs: 90_000 });
    const giveUp = new AbortController();
    const lost = client.batches.create({ ...create, input_file_id }, { signal: giveUp.signal });
    const seen = expect(lost).rejects.toThrow(OpenAI.APIUserAbortError);
    await clock.advance(60_000);
    giveUp.abort();
    await seen;
    expect(fake.batches()).toEqual([]);
    expect(fake.open).toBe(1);
    await clock.advance(30_000);
    expect(fake.batches()).toHaveLength(1);
    expect(fake.open).toBe(0);
  });

  test("429 with a wait, 500 after the batch was accepted, and only as often as configured", async () => {
    const { client, fake } = rig();
    const input_file_id = await upload(client, lines(1));
    fake.inject({ on: "batches.create", accept: false, reply: { status: 429, headers: { "retry-after": "7" } } });
    fake.inject({ on: ["batches.create", "batches.list"], reply: { status: 500 } });
    const refused = await client.batches.create({ ...create, input_file_id }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(OpenAI.RateLimitError);
    expect((refused as InstanceType<typeof OpenAI.APIError>).headers?.get("retry-after")).toBe("7");
    expect(fake.batches()).toEqual([]);
    await expect(client.batches.create({ ...create, input_file_id })).rejects.toMatchObject({ status: 500 });
    expect(fake.batches()).toHaveLength(1);
    await client.batches.create({ ...create, input_file_id });
    expect(fake.calls("batches.create")).toBe(3);
  });

  test("a download is cut in the middle", async () => {
    const { client, clock, fake } = rig();
    const batch = await submit(client, lines(50));
    await clock.advance(HOUR);
    const { output_file_id: id } = await client.batches.retrieve(batch.id);
    fake.inject({ on: "files.content", reply: { cutAtBytes: 1_000 } });
    await expect(results(client, id)).rejects.toThrow("terminated");
    expect(await results(client, id)).toHaveLength(50);
  });

  test("healing removes faults that have not hit yet; a share of the calls is drawn from the seed", async () => {
    const { client, fake } = rig({ seed: 4 });
    fake.inject({ on: "batches.list", times: Number.POSITIVE_INFINITY, chance: 0.5, reply: { status: 500 } });
    let failed = 0;
    for (let n = 0; n < 40; n += 1) {
      await client.batches.list().catch(() => {
        failed += 1;
      });
    }
    expect(failed).toBeGreaterThan(10);
    expect(failed).toBeLessThan(30);
    fake.heal();
    for (let n = 0; n < 10; n += 1) await client.batches.list();
  });
});

describe("an outage", () => {
  test("hits every call until its time has come", async () => {
    const { client, clock, fake } = rig();
    fake.inject({ ...fakeFaults.oddRefusal, until: clock.now() + HOUR });
    for (let n = 0; n < 3; n += 1) await expect(upload(client, lines(1))).rejects.toMatchObject({ status: 400 });
    await clock.advance(HOUR);
    await submit(client, lines(1));
  });

  test("fails batches without a word", async () => {
    const { client, clock } = rig({ plan: { failSilently: true } });
    const batch = await submit(client, lines(1));
    await clock.advance(HOUR);
    expect(await client.batches.retrieve(batch.id)).toMatchObject({ status: "failed", errors: null });
  });

  test("at Azure names both files of a batch that failed, and they are empty", async () => {
    const failWith = { code: "token_limit_exceeded", message: "Enqueued token limit reached." };
    const { client, clock } = rig({ dialect: "azure", plan: { failWith } });
    const batch = await submit(client, lines(2));
    await clock.advance(HOUR);
    const failed = await client.batches.retrieve(batch.id);
    expect(failed.errors?.data).toMatchObject([failWith]);
    expect(await results(client, failed.output_file_id)).toEqual([]);
    expect(await results(client, failed.error_file_id)).toEqual([]);
    expect([failed.output_file_id, failed.error_file_id].every(Boolean)).toBe(true);
  });
});

describe("odd but legal behaviour", () => {
  test("a new batch is listed late and read late", async () => {
    const { client, clock } = rig({ listLagMs: 30_000, retrieveLagMs: 5_000 });
    const batch = await submit(client, lines(1));
    await expect(client.batches.retrieve(batch.id)).rejects.toMatchObject({ status: 404 });
    await clock.advance(5_000);
    await client.batches.retrieve(batch.id);
    expect((await client.batches.list()).data).toEqual([]);
    await clock.advance(25_000);
    expect((await client.batches.list()).data).toHaveLength(1);
  });

  test("result lines are missing or come twice", async () => {
    const { client, clock } = rig({ plan: { missingLines: 2, duplicateLines: 3 } });
    const batch = await submit(client, lines(10));
    await clock.advance(HOUR);
    const ids = (await results(client, (await client.batches.retrieve(batch.id)).output_file_id)).map(
      (row) => row.custom_id,
    );
    expect(ids).toHaveLength(11);
    expect(new Set(ids).size).toBe(8);
  });

  test("a share of the lines fails with the provider's own fault", async () => {
    const { client, clock } = rig({ plan: { failedShare: 0.3 } });
    const batch = await submit(client, lines(100));
    await clock.advance(HOUR);
    const done = await client.batches.retrieve(batch.id);
    const errors = await results(client, done.error_file_id);
    expect(errors.length).toBeGreaterThan(10);
    expect(errors.length).toBeLessThan(60);
    expect(done.request_counts?.failed).toBe(errors.length);
    expect(errors[0]?.response?.status_code).toBe(500);
  });

  test("Azure names absent files with an empty text, returns an empty error file and never expires", async () => {
    const { client, clock } = rig({ dialect: "azure", plan: { runMs: 30 * HOUR } });
    const batch = await submit(client, lines(1));
    expect(batch).toMatchObject({ status: "Validating", output_file_id: "", error_file_id: "", expires_at: null });
    await clock.advance(31 * HOUR);
    const done = await client.batches.retrieve(batch.id);
    expect(done.status).toBe("Completed");
    expect(await (await client.files.content(done.error_file_id ?? "")).text()).toBe("");
  });

  test("an unknown state", async () => {
    const { client, clock, fake } = rig();
    fake.planNext({ strangeState: "reticulating" });
    const batch = await submit(client, lines(1));
    await clock.advance(120_000);
    expect((await client.batches.retrieve(batch.id)).status).toBe("reticulating");
  });

  test("a stranger's batch is listed, and its lines are not counted as ours", async () => {
    const { client, clock, fake } = rig();
    fake.addForeign({ requests: 3 });
    await clock.advance(HOUR);
    expect((await client.batches.list()).data[0]?.request_counts?.total).toBe(3);
    expect(fake.runs().size).toBe(0);
    expect(fake.executions()).toHaveLength(3);
  });
});

test.each([
  ["option", { anser: () => ({ status: 200, body: {} }) }, "`anser`, did you mean `answer`?"],
  ["limit", { limits: { maxLine: 1 } }, "`limits.maxLine`, did you mean `limits.maxLines`?"],
  ["plan", { plan: { runMS: 1 } }, "`plan.runMS`, did you mean `plan.runMs`?"],
])("an unknown %s is refused", (_, options, words) => {
  expect(() => fakeProvider(options as FakeOptions)).toThrow(words);
});

test("an unknown name in the next plan is refused", () => {
  expect(() => fakeProvider().planNext({ answer: 1 } as object)).toThrow("`plan.answer`");
});

describe("results that are not all there, and look whole", () => {
  test("the file of a completed batch is named later than its counts", async () => {
    const { client, clock } = rig({ plan: { validateMs: 0, runMs: 1_000, finalizeMs: 0, resultsLagMs: 120_000 } });
    const { id } = await submit(client, lines(3));
    await clock.advance(1_000);
    const early = await client.batches.retrieve(id);
    expect(early).toMatchObject({ status: "completed", output_file_id: null, request_counts: { completed: 3 } });
    await clock.advance(120_000);
    expect(await results(client, (await client.batches.retrieve(id)).output_file_id)).toHaveLength(3);
  });

  test("a download ends cleanly after some of its lines, or before the first", async () => {
    const { client, clock, fake } = rig();
    const { id } = await submit(client, lines(3));
    await clock.advance(HOUR);
    const { output_file_id: file } = await client.batches.retrieve(id);
    fake.inject({ on: "files.content", reply: { endAfterLines: 2 } });
    fake.inject({ on: "files.content", reply: { endAfterLines: 0 } });
    expect(await results(client, file)).toHaveLength(2);
    expect(await results(client, file)).toHaveLength(0);
    expect(await results(client, file)).toHaveLength(3);
  });
});
