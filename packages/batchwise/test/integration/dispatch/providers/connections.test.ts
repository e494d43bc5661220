import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { expect, test } from "vitest";
import type { CallOptions, CreateInput } from "../../../../src/dispatch/contract/account.ts";
import { anthropicCase, openaiCase } from "../../../dispatch/providers/account-cases.ts";
import { inputOf } from "../../../dispatch/providers/account-suite.ts";

const cases = [openaiCase, anthropicCase];
const create: Omit<CreateInput, "input"> = {
  key: "K".repeat(26),
  attempt: 1,
  endpoint: "/v1/chat/completions",
  model: "m",
  firstBody: async () => "{}",
};
const line = '{"custom_id":"a","params":{}}\n';

function call(timeoutMs = 10_000): CallOptions {
  return { signal: new AbortController().signal, timeoutMs };
}

async function failure(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => expect.unreachable("It was answered."),
    (error: unknown) => error,
  );
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test.each(cases)("$name knows that a refused connection created nothing", async (each) => {
  const account = each.account({ url: `http://127.0.0.1:${await freePort()}` });
  const input = account.upload === undefined ? inputOf([line]) : { fileId: "file-1" };
  const error = await failure(account.create({ ...create, input }, call()));
  expect(account.classify(error, "create").kind).toBe("definitelyNotCreated");
});

test.each(cases)("$name stops waiting after its timeout and calls the outcome unknown", async (each) => {
  const fake = fakeProvider();
  const server = await fake.listen();
  fake.inject({ on: each.create, accept: false, delayMs: 1_000 });
  const account = each.account({ url: server.url });
  const input = account.upload === undefined ? inputOf([line]) : { fileId: "file-1" };
  const error = await failure(account.create({ ...create, input }, call(100)));
  expect(account.classify(error, "create").kind).toBe("unknown");
  expect(fake.calls(each.create)).toBe(1);
  await server.close();
});

test("an upload streams: its first bytes arrive before its last lines are made", async () => {
  let arrived = 0;
  let arrivedBeforeLast = 0;
  const server = createServer((request, response) => {
    request.on("data", (chunk: Buffer) => {
      arrived += chunk.length;
    });
    request.on("end", () => response.setHeader("content-type", "application/json").end('{"id":"file-1"}'));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const account = openaiCase.account({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  const text = `${"x".repeat(99_999)}\n`;
  async function* lines(): AsyncGenerator<string> {
    for (let n = 0; n < 200; n += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      yield text;
    }
    arrivedBeforeLast = arrived;
  }
  const input = { fileName: "a.jsonl", requests: 200, bytes: 200 * text.length, lines };
  expect(await account.upload?.(input, call(60_000))).toEqual({ fileId: "file-1" });
  expect(arrivedBeforeLast).toBeGreaterThan(0);
  expect(arrived).toBeGreaterThan(200 * text.length);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

test("the fake takes a streamed upload and cuts a download over a real socket", async () => {
  const fake = fakeProvider();
  const server = await fake.listen();
  const client = new OpenAI({ apiKey: "key", baseURL: `${server.url}/v1`, maxRetries: 0 });
  const source = {
    path: "/some/folder/streamed.jsonl",
    async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
      for (let n = 0; n < 50; n += 1) yield Buffer.from(`{"n":${n}}\n`);
    },
  };
  const file = await client.files.create({ file: source, purpose: "batch" });
  expect(file.filename).toBe("streamed.jsonl");
  fake.inject({ on: "files.content", reply: { cutAtBytes: 20 } });
  const read = async (): Promise<string> => (await client.files.content(file.id)).text();
  await expect(read()).rejects.toThrow("terminated");
  expect((await read()).split("\n")).toHaveLength(51);
  await server.close();
});
