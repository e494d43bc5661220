// The account's calls to Bedrock and its reading of jobs, over the official clients.

import { type BedrockClient, bedrockAccount } from "batchwise/dispatch/bedrock";
import type { FakeLine } from "batchwise/dispatch/testing";
import { afterEach, describe, expect, test } from "vitest";
import type { BatchName, ProviderBatch, ResultLine } from "../../../../src/dispatch/contract/account.ts";
import type { JsonObject } from "../../../../src/dispatch/contract/types.ts";
import { inputOf } from "../account-suite.ts";
import { type BedrockRig, bedrockRig, ROLE } from "./rig.ts";

const HOUR = 3_600_000;
const KEY = "01JD3K9V7QX2ABCDEFGHJKMNPQ";
const call = { signal: new AbortController().signal, timeoutMs: 10_000 };
const nova = "us.amazon.nova-lite-v1:0";

let open: BedrockRig[] = [];
afterEach(async () => {
  for (const rig of open) await rig.close();
  open = [];
});

async function rigOf(...given: Parameters<typeof bedrockRig>): Promise<BedrockRig> {
  const rig = await bedrockRig(...given);
  open.push(rig);
  return rig;
}

const name: BatchName = { key: KEY, attempt: 1, endpoint: "/v1/chat/completions", model: nova };
const hello = { model: nova, messages: [{ role: "user", content: "Hi" }] };

async function send({ account }: BedrockRig, bodies: readonly object[], of: Partial<BatchName> = {}) {
  const batch = { ...name, ...of };
  const lines = bodies.map((body, ord) => {
    account.checkBody(batch.endpoint, body as JsonObject);
    return account.encodeLine({ customId: `r_${ord}`, endpoint: batch.endpoint, body: JSON.stringify(body) });
  });
  const input = { ...inputOf(lines), fileName: `${batch.key}-${batch.attempt}.jsonl` };
  const { fileId } = (await account.upload?.(input, call)) ?? { fileId: "" };
  const create = () => account.create({ ...batch, input: { fileId }, firstBody: async () => "" }, call);
  return { created: await create(), create, fileId };
}

async function resultsOf({ account }: BedrockRig, id: string, of: Partial<BatchName> = {}): Promise<ResultLine[]> {
  const batch = (await account.retrieve(id, call)) as ProviderBatch;
  const lines: ResultLine[] = [];
  for await (const line of account.results(batch, call, { ...name, ...of })) lines.push(line);
  return lines;
}

describe("a create", () => {
  test("that is sent 1,000 times makes one job", async () => {
    const rig = await rigOf();
    const { created, create } = await send(rig, [hello]);
    const ids = new Set<string>();
    for (let sent = 1; sent < 1_000; sent += 50) {
      const more = await Promise.all(Array.from({ length: Math.min(50, 1_000 - sent) }, create));
      for (const { id } of more) ids.add(id);
    }
    expect(rig.fake.calls("invocationJobs.create")).toBe(1_000);
    expect([...ids]).toEqual([created.id]);
    await rig.clock.advance(HOUR);
    expect([...rig.fake.runs().values()]).toEqual([1]);
  });

  test("that is ignored without naming the job is answered with the job of its token", async () => {
    const rig = await rigOf();
    const { created, create } = await send(rig, [hello]);
    await send(rig, [hello], { attempt: 11 });
    rig.fake.inject({ on: "invocationJobs.create", reply: { status: 200, body: {} } });
    expect(await create()).toMatchObject({ id: created.id, tag: { key: KEY, attempt: 1 } });
  });

  test("of another attempt is another job", async () => {
    const rig = await rigOf();
    const first = await send(rig, [hello]);
    const second = await send(rig, [hello], { attempt: 2 });
    expect(second.created.id).not.toBe(first.created.id);
  });

  test("names the job, its role, model, input, output and options", async () => {
    const options = { timeoutHours: 72, bucketOwner: "123456789012", kmsKeyId: "key-1", tags: { team: "a" } };
    const rig = await rigOf({}, options);
    expect(rig.account.capabilities.completionWindowMs).toBe(72 * 3_600_000);
    const { created } = await send(rig, [hello]);
    const job = await rig.clients.bedrock.getModelInvocationJob({ jobIdentifier: created.id });
    const s3 = { s3BucketOwner: "123456789012" };
    expect(job).toMatchObject({
      jobName: `batchwise-${KEY}-1`,
      clientRequestToken: `${KEY}-1`,
      roleArn: ROLE,
      modelId: nova,
      modelInvocationType: "InvokeModel",
      timeoutDurationInHours: 72,
      inputDataConfig: {
        s3InputDataConfig: { ...s3, s3InputFormat: "JSONL", s3Uri: `s3://bucket/batches/inputs/${KEY}-1.jsonl` },
      },
      outputDataConfig: {
        s3OutputDataConfig: { ...s3, s3EncryptionKeyId: "key-1", s3Uri: `s3://bucket/batches/outputs/${KEY}-1/` },
      },
    });
  });
});

describe("a job", () => {
  test("comes back with its tag, its times and its counts", async () => {
    const rig = await rigOf();
    const { created, fileId } = await send(rig, [hello, hello]);
    expect(created).toMatchObject({ state: "validating", rawState: "Submitted", createdAt: 0, total: null });
    const start = rig.clock.now();
    expect(await rig.account.retrieve(created.id, call)).toMatchObject({
      rawState: "Validating",
      createdAt: start,
      expiresAt: start + 24 * HOUR,
      tag: { key: KEY, attempt: 1 },
      inputFileId: fileId,
      total: null,
    });
    await rig.clock.advance(HOUR);
    expect(await rig.account.retrieve(created.id, call)).toMatchObject({
      state: "done",
      rawState: "Completed",
      total: 2,
      settled: 2,
      ran: 2,
      counts: { total: 2, succeeded: 2, failed: 0 },
    });
  });

  test("of a record that the model refuses gives its status and words", async () => {
    const rig = await rigOf();
    const bad = { model: nova, schemaVersion: "messages-v1", messages: [] };
    const of = { endpoint: "/model/invoke" };
    const { created } = await send(rig, [bad], of);
    await rig.clock.advance(HOUR);
    const [line] = await resultsOf(rig, created.id, of);
    expect(line).toMatchObject({
      response: { statusCode: 400, body: { error: { type: "invalid_request_error" } } },
      error: { code: "invalid_request_error", message: "messages: expected minimum item count: 1" },
    });
  });

  test("that began and ran out of time is PartiallyCompleted, and returns its finished results", async () => {
    const rig = await rigOf({ plan: { runMs: 48 * HOUR, expiredShare: 0.5 } });
    const { created } = await send(rig, [hello, hello, hello, hello]);
    await rig.clock.advance(25 * HOUR);
    const batch = await rig.account.retrieve(created.id, call);
    expect(batch).toMatchObject({ state: "expired", rawState: "PartiallyCompleted", total: 4, ran: 2 });
    expect(await resultsOf(rig, created.id)).toHaveLength(2);
  });

  test("that never began is Expired, and gives nothing", async () => {
    const rig = await rigOf({ plan: { runMs: 48 * HOUR, expiredShare: 0 } });
    const { created } = await send(rig, [hello]);
    await rig.clock.advance(25 * HOUR);
    expect(await rig.account.retrieve(created.id, call)).toMatchObject({ state: "expired", rawState: "Expired" });
    expect(await resultsOf(rig, created.id)).toEqual([]);
  });

  test.each([
    ["The provided role does not have the required permissions.", "authOrBilling"],
    ["Access to the bucket was denied.", "authOrBilling"],
    ["Access denied when calling S3 for the bucket.", "authOrBilling"],
    ["Bedrock could not assume the role.", "authOrBilling"],
    ["User is not authorized to perform kms:Decrypt.", "authOrBilling"],
    ["messages: roles must alternate between user and assistant.", "invalidRequest"],
    ["tools.0.name: get_bucket_access is not valid.", "invalidRequest"],
    ["Record 3 has no permission_mode.", "invalidRequest"],
    ["An internal error occurred. Try again.", "unknown"],
    ["The job has 3 records; a job of this model has 100 to 50000.", "invalidRequest"],
  ])("that failed with %j is %s", async (message, kind) => {
    const rig = await rigOf({ plan: { failWith: { code: "x", message } } });
    const { created } = await send(rig, [hello]);
    await rig.clock.advance(HOUR);
    const batch = await rig.account.retrieve(created.id, call);
    expect(batch).toMatchObject({ state: "failed", resultRefs: [], failure: { kind, message } });
  });

  test("whose input is gone fails in words", async () => {
    const rig = await rigOf();
    const { fileId } = await send(rig, [hello]);
    await rig.account.deleteFile?.(fileId, call);
    const gone = { ...name, attempt: 2, input: { fileId }, firstBody: async () => "" };
    const { id } = await rig.account.create(gone, call);
    await rig.clock.advance(HOUR);
    const batch = await rig.account.retrieve(id, call);
    expect(batch?.failure?.message).toContain("There is no object s3://bucket/batches/inputs/");
  });
});

describe("bodies of the model's own shape", () => {
  const converse = { messages: [{ role: "user", content: [{ text: "Hi" }] }] };
  test.each<[string, JsonObject, JsonObject, JsonObject]>([
    [
      "/v1/messages",
      { model: "m", max_tokens: 0, messages: [{ role: "user", content: "Hi" }] },
      { anthropic_version: "bedrock-2023-05-31", max_tokens: 0, messages: [{ role: "user", content: "Hi" }] },
      { id: "msg_1", content: [], usage: { input_tokens: 3, cache_read_input_tokens: 4, output_tokens: 2 } },
    ],
    [
      "/model/invoke",
      { model: "mistral.mistral-large-2407-v1:0", prompt: "<s>[INST]Hi[/INST]", max_gen_len: 5 },
      { prompt: "<s>[INST]Hi[/INST]", max_gen_len: 5 },
      { outputs: [{ text: "Ho" }], prompt_token_count: 7, generation_token_count: 2 },
    ],
    [
      "/model/converse",
      { model: "deepseek.v3-v1:0", ...converse },
      converse,
      { output: {}, usage: { inputTokens: 3, cacheReadInputTokens: 4, outputTokens: 2, totalTokens: 9 } },
    ],
  ])("%s travel untouched but for the model, and so do answers", async (endpoint, body, input, output) => {
    const seen: FakeLine[] = [];
    const answer = (line: FakeLine) => {
      seen.push(line);
      return { status: 200, body: output };
    };
    const rig = await rigOf({ answer });
    const of = { endpoint, model: String(body.model) };
    const { created } = await send(rig, [body], of);
    const job = await rig.clients.bedrock.getModelInvocationJob({ jobIdentifier: created.id });
    expect(job.modelInvocationType).toBe(endpoint === "/model/converse" ? "Converse" : "InvokeModel");
    await rig.clock.advance(HOUR);
    const [line] = await resultsOf(rig, created.id, of);
    expect(seen[0]?.body).toEqual(input);
    expect(line).toMatchObject({ response: { statusCode: 200, body: output }, error: null });
    expect(line?.usage).toMatchObject({ inputTokens: 7, outputTokens: 2 });
  });

  test("streams are refused, and endpoints that the model does not answer", async () => {
    const { account } = await rigOf();
    expect(() => account.checkBody("/v1/messages", { model: "m", stream: true })).toThrow("`stream`");
    expect(() => account.checkBody("/v1/embeddings", hello)).toThrow(
      `the model "${nova}" answers /v1/chat/completions, not /v1/embeddings`,
    );
    expect(() => account.checkBody("/v1/responses", hello)).toThrow('the endpoint "/v1/responses" has no counterpart');
  });
});

describe("objects in the bucket", () => {
  test("inputs are listed by file name, and deleted", async () => {
    const rig = await rigOf();
    const { fileId } = await send(rig, [hello]);
    const files = [];
    for await (const file of rig.account.listFiles?.(call) ?? []) files.push(file);
    expect(files).toEqual([{ fileId, fileName: `${KEY}-1.jsonl` }]);
    await rig.account.deleteFile?.(fileId, call);
    await rig.account.deleteFile?.(fileId, call);
    expect(rig.s3.names("bucket")).toEqual([]);
  });

  test("are all deleted by the clean-up of their batch, and no others", async () => {
    const rig = await rigOf({}, { cleanup: true });
    const { created, fileId } = await send(rig, [hello]);
    const other = await send(rig, [hello], { attempt: 11 });
    await rig.clock.advance(HOUR);
    await rig.account.retrieve(created.id, call);
    expect(rig.s3.names("bucket")).toHaveLength(6);
    const done = { ...name, providerBatchId: created.id, fileId };
    await rig.account.cleanup?.(done, call);
    await rig.account.cleanup?.(done, call);
    expect(rig.s3.names("bucket")).toHaveLength(3);
    expect(await resultsOf(rig, other.created.id)).toHaveLength(1);
    expect((await rigOf()).account.cleanup).toBeUndefined();
  });
});

describe("an account", () => {
  const client = {} as BedrockClient;
  const methods = ["createModelInvocationJob", "getModelInvocationJob", "listModelInvocationJobs"];
  const some = Object.fromEntries(methods.map((method) => [method, () => {}])) as unknown as BedrockClient;
  const all = { ...some, stopModelInvocationJob: () => Promise.resolve() };
  const storage = { put() {}, get() {}, list() {}, delete() {}, uriOf() {} } as never;
  const whole = { client: all, storage, roleArn: ROLE };

  test.each([
    [{ ...whole, client }, "Expected `client` to be an object with createModelInvocationJob"],
    [{ ...whole, client: some }, "got one without stopModelInvocationJob"],
    [{ ...whole, storage: {} as never }, "Expected `storage` to be"],
    [{ ...whole, roleArn: "bedrock-batches" }, "Expected `roleArn` to be the ARN of a role"],
    [{ ...whole, family: "gpt" as never }, "Expected `family` to be"],
    [{ ...whole, timeoutHours: 12 }, "Expected `timeoutHours` to be an integer from 24 to 168, got `12`"],
    [{ ...whole, tags: { team: 7 as never } }, "Expected `tags.team` to be a string, got `7`"],
    [{ ...whole, timeout: 12 } as never, "Unknown option `timeout`"],
  ])("with a wrong option is refused in words %#", (options, words) => {
    expect(() => bedrockAccount(options)).toThrow(words);
  });

  test("has the quotas of Bedrock, and a name", () => {
    const { name: called, capabilities } = bedrockAccount(whole);
    expect(called).toBe("bedrock");
    const titan = bedrockAccount({ ...whole, family: "titan" }).capabilities.endpoints;
    expect(titan).toEqual(["/v1/embeddings", "/model/invoke", "/model/converse"]);
    expect(capabilities.endpoints).toContain("/v1/chat/completions");
    expect(capabilities).toMatchObject({ tag: "idempotencyToken", limits: { minRequests: 100, maxRequests: 50_000 } });
  });

  test.each([
    [{ name: "ServiceQuotaExceededException", $metadata: { httpStatusCode: 400 } }, "tokenLimit"],
    [{ name: "ConflictException", $metadata: { httpStatusCode: 400 } }, "unknown"],
    [{ name: "ThrottlingException", $metadata: { httpStatusCode: 400 } }, "rateLimited"],
    [{ name: "ExpiredTokenException", $metadata: { httpStatusCode: 403 } }, "authOrBilling"],
    [{ name: "ExpiredToken", $metadata: { httpStatusCode: 400 } }, "authOrBilling"],
    [{ name: "AuthorizationHeaderMalformed", $metadata: { httpStatusCode: 400 } }, "authOrBilling"],
    [{ name: "PermanentRedirect", $metadata: { httpStatusCode: 301 } }, "authOrBilling"],
    [{ name: "KMS.DisabledException", $metadata: { httpStatusCode: 400 } }, "authOrBilling"],
    [{ name: "RequestTimeout", $metadata: { httpStatusCode: 400 } }, "unknown"],
    [{ name: "CredentialsProviderError", message: "The session has expired." }, "authOrBilling"],
    [{ name: "TimeoutError", $metadata: {} }, "unknown"],
    [Object.assign(new Error("x"), { code: "ECONNREFUSED" }), "definitelyNotCreated"],
  ])("takes %j for %s", (error, kind) => {
    expect(bedrockAccount(whole).classify(error, "create").kind).toBe(kind);
  });
});
