// `localAccount` against servers that redirect its calls, and whose answers do not end or unpack to
// a hundred times their size.

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { checkAccount, createDispatcher, type Dispatcher, memoryStore } from "batchwise/dispatch";
import { type LocalAccountOptions, localAccount } from "batchwise/dispatch/local";
import { expect, onTestFinished, test } from "vitest";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc") as () => void;
const MIB = 1024 * 1024;
const KEY = "sk-live-0123456789abcdef";

/** Bytes of objects and buffers. RSS also has what other files have used and freed. */
function bytesHeld(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

interface Site {
  readonly url: string;
  /** Bodies and headers of the calls, as one text each. */
  readonly calls: string[];
}

async function site(host: string, answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<Site> {
  const calls: string[] = [];
  const server = createServer(async (request, response) => {
    calls.push(`${JSON.stringify(request.headers)} ${await text(request)}`);
    answer(request, response);
  });
  server.listen(0, host);
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://${host}:${(server.address() as AddressInfo).port}/v1`, calls };
}

async function started(options: LocalAccountOptions): Promise<{ dispatcher: Dispatcher; errors: unknown[] }> {
  const errors: unknown[] = [];
  const dispatcher = createDispatcher({
    ...{ store: memoryStore(), accounts: [localAccount({ requestTimeoutMs: 900, ...options })], leaseMs: 1_000 },
    ...{ thresholds: { maxAgeMs: 10 }, retry: { backoffMs: 1 }, onError: (error) => errors.push(error) },
  });
  onTestFinished(() => dispatcher.stop());
  await dispatcher.start();
  return { dispatcher, errors };
}

const ask = (id: string) => ({ id, body: { model: "m", messages: [{ role: "user", content: `prompt of ${id}` }] } });

test.each([301, 302, 303, 307, 308])(
  "a redirect with %s is not followed, and no line gets the page behind it",
  async (status) => {
    const other = await site("localhost", (_request, response) => {
      response
        .writeHead(200, { "content-type": "application/json" })
        .end('{"choices":[{"message":{"content":"creds"}}]}');
    });
    const own = await site("127.0.0.1", (_request, response) => {
      response.writeHead(status, { location: `${other.url}/latest/meta-data?token=1` }).end();
    });
    const options = { baseURL: own.url, apiKey: KEY, headers: { "x-secret": KEY } };
    const { dispatcher, errors } = await started(options);
    await dispatcher.enqueue(ask("a"));
    await expect.poll(() => errors.length, { timeout: 5_000 }).toBeGreaterThan(0);
    expect(String(errors[0])).toContain(`answered ${status}, a redirect to ${new URL(other.url).origin}.`);
    expect((await dispatcher.batches())[0]?.lastError).toMatchObject({ code: "redirected" });
    const fault = await checkAccount(localAccount(options));
    expect(fault).toMatchObject({
      kind: "answer",
      status,
      message: expect.stringContaining("Redirects are not followed"),
    });
    expect(other.calls).toEqual([]);
    expect(own.calls.length).toBeGreaterThan(1);
  },
);

test("a `fetch` of the user's that follows redirects all the same gives no answer", async () => {
  const other = await site("localhost", (_request, response) => response.end('{"choices":[{}]}'));
  const own = await site("127.0.0.1", (_request, response) => response.writeHead(307, { location: other.url }).end());
  const follows: typeof fetch = (url, init) => fetch(url, { ...init, redirect: "follow" });
  const { dispatcher, errors } = await started({ baseURL: own.url, fetch: follows });
  await dispatcher.enqueue(ask("a"));
  await expect.poll(() => errors.length, { timeout: 5_000 }).toBeGreaterThan(0);
  expect(String(errors[0])).toContain("has led to another address");
});

test("answers that unpack to more than the limit fail their requests, once each, in little memory", async () => {
  const bomb = gzipSync(Buffer.alloc(256 * MIB, " "));
  const own = await site("127.0.0.1", (_request, response) => {
    response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" }).end(bomb);
  });
  const { dispatcher } = await started({ baseURL: own.url, maxAnswerBytes: 4 * MIB, concurrency: 8 });
  gc();
  const before = bytesHeld();
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, bytesHeld());
  }, 2);
  onTestFinished(() => clearInterval(timer));
  const ids = Array.from({ length: 8 }, (_, n) => `r${n}`);
  await dispatcher.enqueueMany(ids.map(ask));
  for (const id of ids) {
    const message = `The answer of ${own.url}/chat/completions has more than ${4 * MIB} bytes (\`maxAnswerBytes\`).`;
    expect(await dispatcher.result(id)).toMatchObject({
      ...{ status: "failed", response: null, attempts: 1, error: { code: "answer_too_large", message } },
    });
  }
  expect(own.calls).toHaveLength(8);
  expect(most - before).toBeLessThan(400 * MIB);
});

test("an answer that does not end is cut at the limit, and its connection closed", async () => {
  let closed = 0;
  let sent = 0;
  const own = await site("127.0.0.1", (_request, response) => {
    const chunk = Buffer.alloc(MIB, "a");
    const more = (): void => {
      if (response.destroyed) return;
      sent += chunk.length;
      response.write(chunk, more);
    };
    response.on("close", () => {
      closed += 1;
    });
    response.writeHead(200, { "content-type": "application/json" });
    more();
  });
  const { dispatcher } = await started({ baseURL: own.url, maxAnswerBytes: 8 * MIB });
  await dispatcher.enqueue(ask("a"));
  expect(await dispatcher.result("a")).toMatchObject({ status: "failed", error: { code: "answer_too_large" } });
  await expect.poll(() => closed).toBe(1);
  expect(sent).toBeLessThan(64 * MIB);
});

test("an answer of just the limit succeeds, and an error with a long page counts by its status", async () => {
  const answer = '{"choices":[{"message":{"content":"ü"}}]}';
  const own = await site("127.0.0.1", (_request, response) => {
    const isFirst = own.calls.length === 1;
    response.writeHead(isFirst ? 200 : 400, { "content-type": "application/json" });
    response.end(isFirst ? answer : "x".repeat(1_000));
  });
  const { dispatcher } = await started({ baseURL: own.url, maxAnswerBytes: Buffer.byteLength(answer), concurrency: 1 });
  await dispatcher.enqueue(ask("a"));
  expect(await dispatcher.result("a")).toMatchObject({ status: "succeeded", response: { body: JSON.parse(answer) } });
  await dispatcher.enqueue(ask("b"));
  expect(await dispatcher.result("b")).toMatchObject({ status: "failed", response: { statusCode: 400 } });
});

test("the limit is for a server, and a whole number of bytes", () => {
  const handler = (): object => ({});
  expect(() => localAccount({ handler, maxAnswerBytes: 1 })).toThrow("`maxAnswerBytes` is for `baseURL`");
  expect(() => localAccount({ baseURL: "http://h", maxAnswerBytes: 0 })).toThrow("Expected `maxAnswerBytes` to be");
  expect(() => localAccount({ baseURL: "http://h", maxAnswerBytes: Number.POSITIVE_INFINITY })).not.toThrow();
});
