// Keys against real servers: a gateway that echoes every header, keys that no header can hold,
// results with keys in them.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import Anthropic from "@anthropic-ai/sdk";
import { Bedrock } from "@aws-sdk/client-bedrock";
import { S3 } from "@aws-sdk/client-s3";
import { GoogleGenAI } from "@google/genai";
import { Mistral } from "@mistralai/mistralai";
import {
  type Account,
  checkAccount,
  createDispatcher,
  type Dispatcher,
  memoryStore,
  type Outcome,
} from "batchwise/dispatch";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { bedrockAccount } from "batchwise/dispatch/bedrock";
import { geminiAccount } from "batchwise/dispatch/gemini";
import { localAccount } from "batchwise/dispatch/local";
import { mistralAccount } from "batchwise/dispatch/mistral";
import { openaiAccount } from "batchwise/dispatch/openai";
import { s3Storage } from "batchwise/dispatch/storage";
import { fakeProvider } from "batchwise/dispatch/testing";
import { xaiAccount } from "batchwise/dispatch/xai";
import OpenAI from "openai";
import { describe, expect, onTestFinished, test } from "vitest";

const KEY = "sk-live-0123456789abcdef";
const BROKEN = "sk-live-0123456789\nabcdef-of-the-next-line";
const body = { model: "m", messages: [{ role: "user", content: "hi" }] };
const own = { pollMs: 20, requestTimeoutMs: 900, maxRetries: 0 };

const TOKEN = "session-token/0123456789+abcdef==";

/** Answers every call with this status and all of its headers, in the body and in a header. */
async function gateway(status: number): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const echo = String(request.headers.authorization ?? request.headers["x-goog-api-key"]);
      response.writeHead(status, { "content-type": "application/json", "x-echo": echo });
      response.end(JSON.stringify({ error: { message: `upstream failed: ${JSON.stringify(request.headers)}` } }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const accounts: Readonly<Record<string, (url: string, key: string) => Account>> = {
  OpenAI: (url, apiKey) => openaiAccount({ client: new OpenAI({ apiKey, baseURL: url }), ...common() }),
  Anthropic: (url, apiKey) => anthropicAccount({ client: new Anthropic({ apiKey, baseURL: url }), ...common() }),
  Mistral: (url, apiKey) => mistralAccount({ client: new Mistral({ apiKey, serverURL: url }), ...common() }),
  Gemini: (url, apiKey) =>
    geminiAccount({ client: new GoogleGenAI({ apiKey, vertexai: false, httpOptions: { baseUrl: url } }), ...common() }),
  xAI: (url, apiKey) => xaiAccount({ client: new OpenAI({ apiKey, baseURL: url }), ...common() }),
  "a local server": (url, apiKey) => localAccount({ baseURL: `${url}/v1`, apiKey, ...own }),
};

function common(): { pollMs: number; requestTimeoutMs: number; reconcileGraceMs: number } {
  return { pollMs: 20, requestTimeoutMs: 900, reconcileGraceMs: 0 };
}

async function started(account: Account): Promise<{ readonly dispatcher: Dispatcher; readonly errors: unknown[] }> {
  const errors: unknown[] = [];
  const dispatcher = createDispatcher({
    ...{ store: memoryStore(), accounts: [account], leaseMs: 1_000, onError: (error) => errors.push(error) },
    ...{ thresholds: { maxAgeMs: 10 }, retry: { attempts: 1, backoffMs: 1 } },
  });
  onTestFinished(() => dispatcher.stop());
  await dispatcher.start();
  return { dispatcher, errors };
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  await expect.poll(condition, { timeout: 10_000 }).toBe(true);
}

describe.each(Object.entries(accounts))("%s behind a gateway that echoes its headers", (_name, make) => {
  test.each([403, 500])(
    "with %s shows no key: not to onError, not in the store, not in the outcome",
    async (status) => {
      const account = make(await gateway(status), KEY);
      expect(inspect(await checkAccount(account), { depth: 10 })).not.toContain(KEY);
      const { dispatcher, errors } = await started(account);
      await dispatcher.enqueue({ id: "a", body });
      let outcome: Outcome | null = null;
      const ended = dispatcher.result("a").then((one) => {
        outcome = one;
      });
      await until(async () => errors.length > 0 || outcome !== null);
      const batches = await dispatcher.batches();
      const seen = inspect([errors, batches, outcome], { depth: 20, showHidden: true });
      expect(seen).not.toContain(KEY);
      expect(seen).toContain("[secret]");
      await dispatcher.stop();
      await ended.catch(() => {});
    },
  );

  test("refuses a key with a line break when it is made, without quoting it", () => {
    const make2 = (): Account => make("http://127.0.0.1:1", BROKEN);
    expect(make2).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringMatching(/line break/) }),
    );
    expect(make2).not.toThrow(/sk-live|abcdef/);
  });

  test("takes a key with spaces around it", () => {
    expect(() => make("http://127.0.0.1:1", `\n${KEY} \n`)).not.toThrow();
  });
});

test("Bedrock's session token, which a gateway answers with, is shown nowhere", async () => {
  const endpoint = await gateway(400);
  const credentials = { accessKeyId: "id", secretAccessKey: "secret-0123456789", sessionToken: TOKEN };
  const settings = { region: "us-east-1", credentials, maxAttempts: 1 };
  const account = bedrockAccount({
    ...{ client: new Bedrock({ ...settings, endpoint }), roleArn: "arn:aws:iam::123456789012:role/r", ...common() },
    storage: s3Storage({ client: new S3({ ...settings, endpoint, forcePathStyle: true }), bucket: "b" }),
  });
  const fault = await checkAccount(account);
  const seen = inspect([fault, fault?.error], { depth: 10, showHidden: true });
  expect(seen).toContain("[secret]");
  expect(seen).not.toContain(TOKEN);
});

describe("a key from a function", () => {
  test.each<[string, (url: string) => Account]>([
    [
      "OpenAI",
      (url) => openaiAccount({ client: new OpenAI({ apiKey: async () => BROKEN, baseURL: url }), ...common() }),
    ],
    [
      "Anthropic",
      (url) => anthropicAccount({ client: new Anthropic({ apiKey: async () => BROKEN, baseURL: url }), ...common() }),
    ],
    [
      "Mistral",
      (url) => mistralAccount({ client: new Mistral({ apiKey: async () => BROKEN, serverURL: url }), ...common() }),
    ],
  ])("of %s that no header can hold is refused at its first call, in words of our own", async (_name, make) => {
    const account = make(await gateway(500));
    const fault = await checkAccount(account);
    expect(fault).toMatchObject({ kind: "key", message: expect.stringContaining("line break") });
    expect(inspect(fault, { depth: 10, showHidden: true })).not.toMatch(/sk-live|next-line/);
    const { dispatcher, errors } = await started(account);
    await dispatcher.enqueue({ id: "a", body });
    await until(
      async () => errors.length > 0 && (await dispatcher.batches()).some(({ lastError }) => lastError !== null),
    );
    expect((await dispatcher.batches())[0]?.lastError).toMatchObject({ code: "invalid_header" });
    const seen = inspect([errors, await dispatcher.batches()], { depth: 20, showHidden: true });
    expect(seen).not.toMatch(/sk-live|next-line/);
  });
});

test("a failed line that quotes the key is blanked; a succeeded answer with it is not changed", async () => {
  const fake = fakeProvider({
    plan: { validateMs: 0, runMs: 10, finalizeMs: 0 },
    answer: ({ customId, body: asked }) => {
      const fails = JSON.stringify(asked).includes("fail");
      const said = { customId, choices: [{ message: { content: `the key is ${KEY}` } }] };
      return fails
        ? { status: 400, body: { error: { message: `bad: ${KEY}`, code: KEY } } }
        : { status: 200, body: said };
    },
  });
  const { url, close } = await fake.listen();
  onTestFinished(close);
  const client = new OpenAI({ apiKey: KEY, baseURL: `${url}/v1` });
  const { dispatcher } = await started(openaiAccount({ client, ...common() }));
  const ask = (id: string) => ({ id, body: { model: "m", messages: [{ role: "user", content: id }] } });
  await dispatcher.enqueueMany([ask("fail"), ask("good")]);
  const [failed, good] = await Promise.all([dispatcher.result("fail"), dispatcher.result("good")]);
  expect(failed.status).toBe("failed");
  expect(JSON.stringify(failed)).not.toContain(KEY);
  expect(failed.error?.message).toBe("bad: [secret]");
  expect(JSON.stringify(good.response)).toContain(`the key is ${KEY}`);
});

test("an error of a webhook's own fetch is stored without the webhook's secret", async () => {
  const secret = "whsec-0123456789abc";
  const errors: unknown[] = [];
  const dispatcher = createDispatcher({
    ...{ store: memoryStore(), accounts: [localAccount({ handler: () => ({ choices: [1] }) })] },
    ...{ thresholds: { maxAgeMs: 10 }, onError: (error) => errors.push(error) },
    webhook: { url: "http://127.0.0.1:1/", secret, fetch: () => Promise.reject(new Error(`no: ${secret}`)) },
  });
  onTestFinished(() => dispatcher.stop());
  await dispatcher.start();
  await dispatcher.enqueue({ id: "a", body });
  await until(async () => errors.length > 0);
  expect(inspect(errors, { depth: 10 })).not.toContain(secret);
  expect(inspect(errors)).toContain("no: [secret]");
});

test("an address with a user and a password is refused without quoting it", () => {
  const address = "https://someone:pass-word-0123@host.test/v1";
  const store = memoryStore();
  const handler = (): object => ({});
  const refused = expect.objectContaining({ code: "INVALID_OPTION", message: expect.not.stringMatching(/pass-word/) });
  for (const url of [address, "htps://u:pass-word-0123@host", "https://u:pass-word-0123@host:port"]) {
    expect(() => localAccount({ baseURL: url })).toThrow(refused);
    const webhook = { url, secret: "s" };
    expect(() => createDispatcher({ store, accounts: [localAccount({ handler })], webhook })).toThrow(refused);
  }
});

test("an event with a code that has the key in it is emitted without it", async () => {
  const server = createServer((request, response) => {
    response.writeHead(402, { "content-type": "application/json" });
    request.resume().on("end", () => response.end(JSON.stringify({ error: { code: `no-${KEY}`, message: "Pay." } })));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const { dispatcher } = await started(
    openaiAccount({ client: new OpenAI({ apiKey: KEY, baseURL: url }), ...common() }),
  );
  const events: unknown[] = [];
  for (const name of ["upload", "pause", "create", "batch"] as const)
    dispatcher.on(name, (event) => events.push(event));
  await dispatcher.enqueue({ id: "a", body });
  await until(async () => events.some((event) => inspect(event).includes("no-[secret]")));
  expect(inspect(events, { depth: 10 })).not.toContain(KEY);
});
