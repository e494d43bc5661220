// The fake through Mistral's official client.

import { HTTPClient, Mistral } from "@mistralai/mistralai";
import { type FakeOptions, fakeProvider } from "batchwise/dispatch/testing";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";

const HOUR = 3_600_000;
const endpoint = "/v1/chat/completions";

function rig(options: FakeOptions = {}) {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const fake = fakeProvider({ clock, dialect: "mistral", ...options });
  const httpClient = new HTTPClient({ fetcher: (input, init) => fake.fetch(input, init) });
  return { clock, fake, client: new Mistral({ apiKey: "key", serverURL: "http://fake.test", httpClient }) };
}

const line = (id: string, text: string, more: object = {}): string =>
  JSON.stringify({ custom_id: id, body: { messages: [{ role: "user", content: text }], ...more } });

async function upload(client: Mistral, lines: readonly string[]): Promise<string> {
  const file = new File([lines.join("\n")], "in.jsonl");
  return (await client.files.upload({ file, purpose: "batch" })).id;
}

async function linesOf(client: Mistral, fileId: string): Promise<unknown[]> {
  const text = await new Response(await client.files.download({ fileId })).text();
  return text
    .trim()
    .split("\n")
    .map((each) => JSON.parse(each));
}

describe("Mistral's half of the fake", () => {
  test("runs a job from a file to its two result files", async () => {
    const { clock, client } = rig();
    const file = await upload(client, [line("a", "Hi"), line("b", "Ho", { max_completion_tokens: 3 })]);
    const job = await client.batch.jobs.create({ inputFiles: [file], endpoint, model: "m", metadata: { x: "y" } });
    expect(job).toMatchObject({ status: "QUEUED", totalRequests: 2, inputFiles: [file], metadata: { x: "y" } });
    await clock.advance(10 * 60_000);
    expect(await client.batch.jobs.get({ jobId: job.id })).toMatchObject({ status: "RUNNING", outputFile: null });
    await clock.advance(HOUR);
    const done = await client.batch.jobs.get({ jobId: job.id });
    expect(done).toMatchObject({ status: "SUCCESS", succeededRequests: 1, failedRequests: 1 });
    expect(await linesOf(client, done.outputFile ?? "")).toMatchObject([
      { custom_id: "a", response: { status_code: 200, body: { model: "m", choices: [{ finish_reason: "stop" }] } } },
    ]);
    const forbidden = { detail: [{ loc: ["body", "max_completion_tokens"], msg: "Extra inputs are not permitted" }] };
    expect(await linesOf(client, done.errorFile ?? "")).toMatchObject([
      { custom_id: "b", response: { status_code: 422, body: { message: forbidden } } },
    ]);
  });

  test("gives the results of inline requests with the job", async () => {
    const { clock, client } = rig();
    const requests = [{ customId: "a", body: { messages: [{ role: "user", content: "Hi" }] } }];
    const { id: jobId } = await client.batch.jobs.create({ requests, endpoint, model: "m" });
    await clock.advance(HOUR);
    expect(await client.batch.jobs.get({ jobId })).toMatchObject({
      status: "SUCCESS",
      outputs: null,
      outputFile: null,
    });
    const { outputs } = await client.batch.jobs.get({ jobId, inline: true });
    expect(outputs).toMatchObject([{ custom_id: "a", response: { status_code: 200 } }]);
  });

  test("lists jobs by page, newest first, and by the client's metadata", async () => {
    const { clock, client } = rig();
    const file = await upload(client, [line("a", "Hi")]);
    const ids: string[] = [];
    for (const x of ["1", "2", "3"]) {
      ids.push((await client.batch.jobs.create({ inputFiles: [file], endpoint, model: "m", metadata: { x } })).id);
      await clock.advance(1_000);
    }
    const pages = [0, 1, 2].map((page) => client.batch.jobs.list({ page, pageSize: 2 }));
    const listed = (await Promise.all(pages)).map(({ data, total }) => [total, data?.map(({ id }) => id)]);
    expect(listed).toEqual([
      [3, [ids[2], ids[1]]],
      [3, [ids[0]]],
      [3, []],
    ]);
    const { data } = await client.batch.jobs.list({ metadata: { x: "2" } });
    expect(data?.map(({ id }) => id)).toEqual([ids[1]]);
  });

  test("ends a job at its time limit, with the finished lines, and keeps results for a day", async () => {
    const { clock, client } = rig({ plan: { validateMs: 0, runMs: 10 * HOUR } });
    const file = await upload(
      client,
      ["a", "b", "c", "d"].map((id) => line(id, id)),
    );
    const { id: jobId } = await client.batch.jobs.create({ inputFiles: [file], endpoint, model: "m", timeoutHours: 5 });
    await clock.advance(6 * HOUR);
    const job = await client.batch.jobs.get({ jobId });
    expect(job).toMatchObject({ status: "TIMEOUT_EXCEEDED", completedRequests: 2, errorFile: null });
    expect(await linesOf(client, job.outputFile ?? "")).toHaveLength(2);
    await clock.advance(24 * HOUR);
    await expect(client.files.download({ fileId: job.outputFile ?? "" })).rejects.toMatchObject({ statusCode: 404 });
  });

  test("fails a job later for lines that cannot be read, without naming them", async () => {
    const { clock, client } = rig();
    const file = await upload(client, [line("a", "Hi"), line("a", "Hi"), "{", line("b", "x", { model: "other" })]);
    const { id: jobId } = await client.batch.jobs.create({ inputFiles: [file], endpoint, model: "m" });
    await clock.advance(HOUR);
    expect(await client.batch.jobs.get({ jobId })).toMatchObject({
      status: "FAILED",
      errors: [
        { message: "A custom_id is there twice.", count: 1 },
        { message: "A line is not a JSON object.", count: 1 },
        { message: "A body names another model.", count: 1 },
      ],
    });
  });

  test.each([
    ["both kinds of input", { inputFiles: ["f"], requests: [{ customId: "a", body: {} }] }, 422],
    ["no input", {}, 422],
    ["a file that is not there", { inputFiles: ["f"] }, 404],
    ["another endpoint", { inputFiles: ["f"], endpoint: "/v1/responses" }, 422],
    ["a model that is not there", { inputFiles: ["f"], model: "x" }, 400],
  ])("refuses %s at once", async (_case, wanted, statusCode) => {
    const { client, fake } = rig({ models: ["m"] });
    const body = { endpoint, model: "m", ...wanted } as Parameters<Mistral["batch"]["jobs"]["create"]>[0];
    await expect(client.batch.jobs.create(body)).rejects.toMatchObject({ statusCode });
    expect(fake.batches()).toEqual([]);
  });

  test("cancels a job, and refuses that of one that has ended", async () => {
    const { clock, client } = rig();
    const file = await upload(client, [line("a", "Hi")]);
    const ids: string[] = [];
    for (let n = 0; n < 2; n += 1) {
      ids.push((await client.batch.jobs.create({ inputFiles: [file], endpoint, model: "m" })).id);
    }
    const [first = "", second = ""] = ids;
    expect((await client.batch.jobs.cancel({ jobId: first })).status).toBe("CANCELLATION_REQUESTED");
    await clock.advance(HOUR);
    expect((await client.batch.jobs.get({ jobId: first })).status).toBe("CANCELLED");
    await expect(client.batch.jobs.cancel({ jobId: second })).rejects.toMatchObject({ statusCode: 400 });
    await client.batch.jobs.delete({ jobId: second });
    await expect(client.batch.jobs.get({ jobId: second })).rejects.toMatchObject({ statusCode: 404 });
  });

  test("holds back a workspace with too many pending requests", async () => {
    const { client } = rig({ limits: { enqueuedItems: 1 } });
    const file = await upload(client, [line("a", "Hi"), line("b", "Hi")]);
    await expect(client.batch.jobs.create({ inputFiles: [file], endpoint, model: "m" })).rejects.toMatchObject({
      statusCode: 429,
    });
  });
});
