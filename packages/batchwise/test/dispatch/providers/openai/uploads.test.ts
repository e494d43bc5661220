// Uploads by the client's own method, by Together's form or by the user, and fields added to
// uploads and creates. Over the official client and real sockets.

import { createDispatcher, memoryStore } from "batchwise/dispatch";
import {
  type OpenAiAccountOptions,
  type OpenAiClient,
  type OpenAiServiceName,
  openaiAccount,
  openaiServices,
} from "batchwise/dispatch/openai";
import { type FakeOptions, fakeProvider } from "batchwise/dispatch/testing";
import OpenAI, { AzureOpenAI } from "openai";
import { afterEach, describe, expect, test } from "vitest";
import type { BatchInput, CallOptions, CreateInput } from "../../../../src/dispatch/contract/account.ts";
import { foreign } from "../../support/foreign-headers.ts";
import { inputOf } from "../account-suite.ts";

const endpoint = "/v1/chat/completions";
const body = '{"model":"m","messages":[{"role":"user","content":"grüße"}]}';
const line = `{"custom_id":"a","method":"POST","url":"${endpoint}","body":${body}}\n`;
const name = { key: "01JD3K9V7QX2ABCDEFGHJKMNPQ", attempt: 1, endpoint, model: "m" };
const call: CallOptions = { signal: new AbortController().signal, timeoutMs: 10_000 };

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function rig(
  fakeOptions: FakeOptions & { dialect?: OpenAiServiceName },
  options: Partial<OpenAiAccountOptions> = {},
) {
  const fake = fakeProvider({ plan: { validateMs: 0, runMs: 0, finalizeMs: 0 }, ...fakeOptions });
  const server = await fake.listen();
  open.push(server);
  const client = new OpenAI({ apiKey: "key", baseURL: `${server.url}/v1` });
  const { dialect = "openai" } = fakeOptions;
  return { fake, client, account: openaiAccount({ client, service: dialect, ...options }) };
}

async function batchOf({ account }: Awaited<ReturnType<typeof rig>>, input: BatchInput = inputOf([line])) {
  const uploaded = await account.upload?.(input, call);
  const create: CreateInput = { ...name, input: uploaded ?? input, firstBody: async () => body };
  return account.create(create, call);
}

async function stored(
  client: OpenAI,
  id: string,
): Promise<{ readonly file: OpenAI.FileObject; readonly text: string }> {
  return { file: await client.files.retrieve(id), text: await (await client.files.content(id)).text() };
}

describe("an upload to Together", () => {
  test.each(["redirect", "direct"] as const)("arrives whole, where the service answers with %s", async (uploads) => {
    const here = await rig({ dialect: "together", uploads });
    const lines = Array.from({ length: 3_000 }, () => line);
    const { inputFileId } = await batchOf(here, inputOf(lines));
    expect(here.fake.calls("files.put")).toBe(uploads === "redirect" ? 1 : 0);
    const { file, text } = await stored(here.client, inputFileId ?? "");
    expect(file.filename).toBe("01JD3K9V7QX2ABCDEFGHJKMNPQ-1.jsonl");
    expect(text).toBe(lines.join(""));
  });

  test("follows the redirect of a client whose fetch has headers of its own", async () => {
    const { client, fake } = await rig({ dialect: "together" });
    const post: OpenAiClient["post"] = async (path, options) => {
      try {
        return await client.post(path, options as object);
      } catch (error) {
        throw Object.assign(error as object, { headers: foreign((error as { headers: Headers }).headers) });
      }
    };
    const account = openaiAccount({
      client: { files: client.files, batches: client.batches, post },
      service: "together",
    });
    await batchOf({ fake, client, account });
    expect(fake.calls("files.put")).toBe(1);
  });

  test("by the client's own method would be refused there", async () => {
    const { client } = await rig({ dialect: "together" });
    const file = new File([line], "a.jsonl");
    await expect(client.files.create({ file, purpose: "batch" })).rejects.toMatchObject({ status: 400 });
  });

  test("that the storage refuses does not blame the account's key", async () => {
    const { fake, account } = await rig({ dialect: "together" });
    fake.inject({ on: "files.put", accept: false, reply: { status: 403 } });
    const refused: unknown = await account.upload?.(inputOf([line]), call).catch((error: unknown) => error);
    expect(account.classify(refused, "upload")).toMatchObject({
      kind: "unknown",
      message: expect.stringContaining("storage that the provider named refused the file (403)"),
    });
  });

  test("needs a client that can post", () => {
    const { files, batches } = new OpenAI({ apiKey: "key" });
    expect(() => openaiAccount({ client: { files, batches }, service: "together" })).toThrow("without post");
  });

  test("of whole batches ends well through a dispatcher", async () => {
    const { fake, account } = await rig({ dialect: "together" }, { pollMs: 10 });
    const dispatcher = createDispatcher({
      store: memoryStore(),
      accounts: [account],
      thresholds: { maxRequests: 3 },
    });
    await dispatcher.start();
    const ids = ["a", "b", "c"];
    const messages = [{ role: "user", content: "Hi" }];
    await dispatcher.enqueueMany(ids.map((id) => ({ id, body: { model: "m", messages } })));
    const outcomes = await Promise.all(ids.map((id) => dispatcher.result(id)));
    expect(outcomes.map(({ status }) => status)).toEqual(["succeeded", "succeeded", "succeeded"]);
    expect(fake.executions()).toHaveLength(3);
    await dispatcher.stop();
  });
});

describe("extras", () => {
  const expiry = { anchor: "created_at", seconds: 7_200 };

  test("travel with uploads and creates, and metadata keeps our tag", async () => {
    const here = await rig(
      {},
      {
        uploadExtras: { expires_after: expiry },
        createExtras: ({ model }) => ({ metadata: { team: model }, output_expires_after: expiry }),
      },
    );
    const { id, inputFileId } = await batchOf(here);
    const { file } = await stored(here.client, inputFileId ?? "");
    expect((file.expires_at ?? 0) - file.created_at).toBe(7_200);
    const { metadata } = await here.client.batches.retrieve(id);
    expect(metadata).toEqual({ team: "m", batchwise_key: name.key, batchwise_attempt: "1" });
  });

  test("that try to set the account's own fields are refused", async () => {
    await expect(rig({}, { createExtras: { input_file_id: "x" } })).rejects.toThrow("without `input_file_id`");
    await expect(rig({}, { uploadExtras: { purpose: "x" } })).rejects.toThrow("without `purpose`");
    await expect(rig({}, { createExtras: 7 as never })).rejects.toThrow(
      "`createExtras` to be an object, or a function",
    );
  });

  test("of a function that fails send nothing", async () => {
    const here = await rig({}, { createExtras: () => ({ completion_window: "7d" }) });
    const failed = await batchOf(here).catch((error: unknown) => error);
    expect(here.account.classify(failed, "create")).toMatchObject({
      kind: "definitelyNotCreated",
      code: "extras_failed",
      message: expect.stringContaining("`completion_window`"),
    });
    expect(here.fake.calls("batches.create")).toBe(0);
  });

  test("an upload of the user's own takes the place of the account's", async () => {
    const here: Awaited<ReturnType<typeof rig>> = await rig(
      {},
      {
        upload: async (input) => {
          let text = "";
          for await (const each of input.lines()) text += each;
          const { id } = await here.client.files.create({ file: new File([text], "own.jsonl"), purpose: "batch" });
          return { fileId: id };
        },
      },
    );
    const { inputFileId } = await batchOf(here);
    expect((await stored(here.client, inputFileId ?? "")).file.filename).toBe("own.jsonl");
  });
});

describe("the window of a batch", () => {
  test.each(["24h", "36h", "7d"])("may be %s at Groq", async (completionWindow) => {
    const here = await rig({ dialect: "groq" }, { completionWindow });
    if (completionWindow === "36h") return;
    const { expiresAt, createdAt } = await batchOf(here);
    expect((expiresAt ?? 0) - createdAt).toBe(completionWindow === "7d" ? 7 * 86_400_000 : 86_400_000);
  });

  test.each([
    ["36h", 36],
    ["7d", 168],
  ])("of %s measures deadlines until a batch has ended", (completionWindow, hours) => {
    const account = openaiAccount({ client: new OpenAI({ apiKey: "key" }), service: "groq", completionWindow });
    expect(account.capabilities.completionWindowMs).toBe(hours * 3_600_000);
  });

  test("may be an hour at a service whose record says so", () => {
    const service = { ...openaiServices.openai, shortestWindowHours: 1 };
    const accountOf = (completionWindow: string) =>
      openaiAccount({ client: new OpenAI({ apiKey: "key" }), service, completionWindow });
    expect(accountOf("1h").capabilities.completionWindowMs).toBe(3_600_000);
    expect(() => accountOf("2d")).toThrow('between "1h" and "24h"');
  });

  test.each([
    ["groq", "8d", '"24h" and "7d"'],
    ["groq", "12h", '"24h" and "7d"'],
    ["openai", "48h", '"24h"'],
    ["azure", "soon", '"24h"'],
  ] as const)("may not be, at %s, %s", (service, completionWindow, words) => {
    const client = new OpenAI({ apiKey: "key" });
    expect(() => openaiAccount({ client, service, completionWindow })).toThrow(words);
  });
});

describe("Azure", () => {
  test("is polled each minute, and takes embeddings only where the account says so", () => {
    const client = new OpenAI({ apiKey: "key" });
    const plain = openaiAccount({ client, service: "azure" });
    expect([plain.pollMs, plain.capabilities.endpoints]).toEqual([60_000, [endpoint]]);
    const endpoints = [endpoint, "/v1/embeddings"];
    const more = openaiAccount({ client, service: "azure", endpoints, pollMs: 1_000 });
    expect([more.pollMs, more.capabilities.endpoints]).toEqual([1_000, endpoints]);
  });

  test("needs a client without a deployment", () => {
    const options = { apiKey: "key", apiVersion: "v1", endpoint: "http://azure.test" };
    const client = new AzureOpenAI({ ...options, deployment: "gpt" });
    expect(() => openaiAccount({ client, service: "azure" })).toThrow(
      'without `deployment`: batches name it in `body.model`; got one with the deployment "gpt"',
    );
    openaiAccount({ client: new AzureOpenAI(options), service: "azure" });
  });

  test("takes lines with the address of its older samples, where the record says so", async () => {
    const service = { ...openaiServices.azure, urls: { [endpoint]: "/chat/completions" } };
    const here = await rig({ dialect: "azure" }, { service });
    const given = { customId: "a", endpoint, body };
    const own = here.account.encodeLine(given);
    expect(JSON.parse(own).url).toBe("/chat/completions");
    expect(here.account.lineBytes?.(given, Buffer.byteLength(body))).toBe(Buffer.byteLength(own));
    const { id } = await batchOf(here, inputOf([own]));
    expect(await here.account.retrieve(id, call)).toMatchObject({ state: "done", total: 1 });
  });

  test("that keeps too many files pauses the account, and one whose files expire continues", async () => {
    const limits = { maxLastingFiles: 1 };
    const full = await rig({ dialect: "azure", limits });
    await batchOf(full);
    const refused: unknown = await batchOf(full).catch((error: unknown) => error);
    expect(full.account.classify(refused, "upload")).toMatchObject({ kind: "authOrBilling", code: "quotaExceeded" });
    const uploadExtras = { expires_after: { anchor: "created_at", seconds: 14 * 86_400 } };
    const expiring = await rig({ dialect: "azure", limits }, { uploadExtras });
    await batchOf(expiring);
    await batchOf(expiring);
  });

  test("that fails a batch for its quota does not blame the batch", async () => {
    const failWith = { code: "quotaExceeded", message: "The number of files exceeds the quota, the maximum is 500." };
    const here = await rig({ dialect: "azure", plan: { validateMs: 0, failWith } });
    const { id } = await batchOf(here);
    const seen = await here.account.retrieve(id, call);
    expect(seen).toMatchObject({ state: "failed", failure: { kind: "authOrBilling", code: "quotaExceeded" } });
  });
});

test("a cleaned-up batch keeps no file", async () => {
  const here = await rig({}, { cleanup: true });
  const { id: providerBatchId, inputFileId: fileId } = await batchOf(here);
  const ended = await here.account.retrieve(providerBatchId, call);
  for (let times = 0; times < 2; times += 1) await here.account.cleanup?.({ ...name, providerBatchId, fileId }, call);
  for (const id of [fileId, ...(ended?.resultRefs ?? [])]) {
    await expect(here.client.files.retrieve(id ?? "")).rejects.toMatchObject({ status: 404 });
  }
  expect((ended?.resultRefs ?? []).length).toBeGreaterThan(0);
  expect(openaiAccount({ client: here.client }).cleanup).toBeUndefined();
});
