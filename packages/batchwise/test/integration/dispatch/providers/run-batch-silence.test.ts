// The first call of a newcomer with one thing wrong, over real sockets and in real time: each is
// reported without any option.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { memoryStore, runBatch } from "batchwise/dispatch";
import { localAccount } from "batchwise/dispatch/local";
import { openaiAccount } from "batchwise/dispatch/openai";
import OpenAI from "openai";
import { expect, onTestFinished, test } from "vitest";
import type { JobProgress } from "../../../../src/dispatch/contract/jobs.ts";

const requests = [{ body: { model: "m", messages: [{ role: "user", content: "Where is Paris?" }] } }];
const WRONG_KEY = { error: { message: "Incorrect API key provided: sk-1.", code: "invalid_api_key", type: null } };

async function serve(
  answer: object,
  status: number,
): Promise<{ url: string; paths: string[]; close(): Promise<void> }> {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(`${request.method} ${request.url}`);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, paths, close };
}

const accountAt = (baseURL: string) => openaiAccount({ client: new OpenAI({ apiKey: "sk-1", baseURL }) });

async function all<T>(outcomes: AsyncIterable<T>): Promise<T[]> {
  const given: T[] = [];
  for await (const outcome of outcomes) given.push(outcome);
  return given;
}

test("a wrong key rejects within a second, names account and status, and uploads nothing", async () => {
  const { url, paths } = await serve(WRONG_KEY, 401);
  const run = all(
    runBatch({ store: memoryStore(), accounts: [accountAt(url)], job: "a", requests, onError: () => {} }),
  );
  await expect(run).rejects.toMatchObject({ code: "ACCOUNT_REFUSED" });
  await expect(run).rejects.toThrow('the account "openai" answered 401 (invalid_api_key: Incorrect API key provided');
  expect(paths).toEqual(["GET /v1/batches?limit=1"]);
});

test("a wrong key for a server of one's own rejects, too", async () => {
  const { url, paths } = await serve(WRONG_KEY, 401);
  const accounts = [localAccount({ baseURL: url, apiKey: "wrong" })];
  const run = all(runBatch({ store: memoryStore(), accounts, job: "a", requests, onError: () => {} }));
  await expect(run).rejects.toThrow('the account "local" answered 401');
  expect(paths).toEqual(["GET /v1/models"]);
});

/** Runs the job at an address where nothing listens, for two seconds. */
async function unreachable(more: object): Promise<readonly JobProgress[]> {
  const { url, close } = await serve({}, 200);
  await close();
  const stop = new AbortController();
  const seen: JobProgress[] = [];
  const onProgress = (progress: JobProgress) => void seen.push(progress);
  const options = { store: memoryStore(), accounts: [accountAt(url)], job: "a", requests, signal: stop.signal };
  const run = all(runBatch({ ...options, onProgress, ...more }));
  setTimeout(() => stop.abort(new Error("Enough.")), 2_000);
  await expect(run).rejects.toThrow("Enough.");
  return seen;
}

test("no network is reported once to onError, and stands in the progress with the time of the next try", async () => {
  const errors: unknown[] = [];
  const seen = await unreachable({ onError: (error: unknown) => errors.push(error) });
  expect(errors).toMatchObject([{ code: "ACCOUNT_UNAVAILABLE" }]);
  expect(String(errors[0])).toMatch(/The account "openai" gave no answer \(no_answer: Connection error.*ECONNREFUSED/);
  const paused = seen.findLast((progress) => progress.paused !== null)?.paused;
  expect(paused).toMatchObject({ account: "openai", reason: expect.stringContaining("Connection error") });
  expect(paused?.until).toBeGreaterThan(Date.now());
});

test("no network and no onError is printed once, by process.emitWarning with the code, without terminal codes", async () => {
  const warnings: { readonly name: string; readonly code?: string; readonly message: string }[] = [];
  const hear = (warning: Error) => void warnings.push(warning);
  process.on("warning", hear);
  onTestFinished(() => void process.off("warning", hear));
  const client = new OpenAI({ apiKey: "sk-1", baseURL: "http://127.0.0.1:1/v1" });
  const accounts = [openaiAccount({ client, name: "open\u001b[2J\u009b\u007f\nai" })];
  await unreachable({ accounts });
  await unreachable({ accounts });
  await sleep(10);
  expect(warnings).toMatchObject([{ name: "BatchwiseWarning", code: "ACCOUNT_UNAVAILABLE" }]);
  const name = String.raw`open\u001b[2J\u009b\u007f\u000aai`;
  expect(warnings[0]?.message).toContain(`The account "${name}" gave no answer`);
});

test("a run whose outcomes are not read is reported after a second; one that is read is not", async () => {
  const { url } = await serve(WRONG_KEY, 401);
  const options = { store: memoryStore(), accounts: [accountAt(url)], job: "a", requests };
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  runBatch({ ...options, onError });
  const read = runBatch({ ...options, requests: [], onError });
  expect(await all(read)).toEqual([]);
  await sleep(1_100);
  expect(errors).toMatchObject([
    { code: "NOT_ITERATED", message: expect.stringContaining("for await (const outcome") },
  ]);
});
