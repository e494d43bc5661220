// A client with the methods of `together-ai` 0.52: no `files.create`, and lists that take only
// settings. OpenAI's client replaces it, because the package is not installed and both are
// generated from one template.

import { createDispatcher, memoryStore } from "batchwise/dispatch";
import { openaiAccount, type TogetherClient } from "batchwise/dispatch/openai";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { expect, onTestFinished, test } from "vitest";
import type { CallSettings } from "../../../../src/dispatch/providers/shapes/sdk/sdk-call.ts";

/** `listed` gets the settings of each list call. */
function togetherAt(url: string, listed: unknown[] = []): TogetherClient {
  const client = new OpenAI({ apiKey: "key", baseURL: `${url}/v1` });
  const list = (path: string, call: CallSettings): PromiseLike<unknown> => {
    listed.push(call);
    return client.get(path, call);
  };
  const { files, batches } = client;
  const own = {
    files: {
      upload: () => Promise.reject(new Error("Never called.")),
      content: (...call: Parameters<typeof files.content>) => files.content(...call),
      list: (call: CallSettings) => list("/files", call),
      delete: (...call: Parameters<typeof files.delete>) => files.delete(...call),
    },
    batches: {
      create: (...call: Parameters<typeof batches.create>) => batches.create(...call),
      retrieve: (...call: Parameters<typeof batches.retrieve>) => batches.retrieve(...call),
      list: (call: CallSettings) => list("/batches", call),
      cancel: (...call: Parameters<typeof batches.cancel>) => batches.cancel(...call),
    },
    post: client.post.bind(client),
    put: client.put.bind(client),
    getUserAgent: () => "Together/JS 0.52.0",
  };
  return own;
}

test.each(["redirect", "direct"] as const)("runs whole batches where uploads are answered with %s", async (uploads) => {
  const fake = fakeProvider({ dialect: "together", uploads, plan: { validateMs: 0, runMs: 0, finalizeMs: 0 } });
  const { url, close } = await fake.listen();
  const account = openaiAccount({ client: togetherAt(url), service: "together", pollMs: 10 });
  const dispatcher = createDispatcher({ store: memoryStore(), accounts: [account], thresholds: { maxAgeMs: 1 } });
  onTestFinished(async () => {
    await dispatcher.stop();
    await close();
  });
  await dispatcher.start();
  await dispatcher.enqueue({ id: "a", body: { model: "m", messages: [{ role: "user", content: "Hi" }] } });
  expect(await dispatcher.result("a")).toMatchObject({ status: "succeeded", response: { statusCode: 200 } });
});

test("lists with the retries switched off, as every other call", async () => {
  const fake = fakeProvider({ dialect: "together" });
  const { url, close } = await fake.listen();
  onTestFinished(close);
  const listed: unknown[] = [];
  const account = openaiAccount({ client: togetherAt(url, listed), service: "together" });
  const { signal } = new AbortController();
  await account.list({ cursor: null, limit: 10 }, { signal, timeoutMs: 9_000 });
  for await (const _file of account.listFiles?.({ signal, timeoutMs: 9_000 }) ?? []) throw new Error("None yet.");
  expect(listed).toEqual(new Array(2).fill({ maxRetries: 0, timeout: 9_000, signal }));
});

test("is refused for another service, in words", () => {
  const client = togetherAt("http://127.0.0.1:1");
  const words = 'Expected `service` to be "together" for a client of together-ai';
  expect(() => openaiAccount({ client })).toThrow(words);
  const { cancel: _cancel, ...batches } = client.batches;
  const half = { ...client, batches } as TogetherClient;
  expect(() => openaiAccount({ client: half, service: "together" })).toThrow("got one without cancel");
});
