// The recipes of docs/without-a-process.md: their blocks are modules here, over a dispatcher whose
// provider is the fake. Only `dispatcher.ts` is another one than the page's.

import { spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { asyncLocalStorage, Context } from "@temporalio/activity";
import type { Dispatcher } from "batchwise/dispatch";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { root, scratchFolder, textOf } from "../../../packages/batchwise/test/house/repository.ts";
import { home } from "../recipes.ts";

const folder = scratchFolder("without-a-process", home);
afterAll(() => rmSync(folder, { recursive: true }));

const blocks = [...textOf("docs/without-a-process.md").matchAll(/^```(?:ts|mts)\n\/\/ (\S+\.ts)\n([\s\S]*?)^```$/gm)];

/** A batch takes no time at this provider. */
const dispatcherModule = `
  import { createDispatcher, memoryStore } from "batchwise/dispatch";
  import { openaiAccount } from "batchwise/dispatch/openai";
  import { fakeProvider } from "batchwise/dispatch/testing";
  import OpenAI from "openai";
  const fake = fakeProvider({ plan: { validateMs: 0, runMs: 0, finalizeMs: 0 } });
  const client = new OpenAI({ apiKey: "k", baseURL: "http://fake.test/v1", fetch: fake.fetch });
  const accounts = [openaiAccount({ client, pollMs: 50 })];
  export const dispatcher = createDispatcher({ store: memoryStore(), accounts, thresholds: { maxAgeMs: 0 } });
`;

/** The page's modules, of a dispatcher of their own. */
async function recipe<Exports>(file: string): Promise<Exports & { readonly dispatcher: Dispatcher }> {
  const own = `${folder}${file.replaceAll(/\W/g, "-")}/`;
  mkdirSync(`${own}next`, { recursive: true });
  for (const [, name, code] of blocks)
    writeFileSync(own + name, name === "dispatcher.ts" ? dispatcherModule : `${code}`);
  const load = async (name: string) => import(pathToFileURL(own + name).href) as Promise<never>;
  const { dispatcher } = await load("dispatcher.ts");
  onTestFinished(() => (dispatcher as Dispatcher).stop());
  return { ...(file === "dispatcher.ts" ? {} : ((await load(file)) as object)), dispatcher } as never;
}

const request = (id: string) => ({ id, body: { model: "gpt-5-mini", messages: [{ role: "user", content: id }] } });

test("the page has a block for each recipe", () => {
  const names = blocks.map(([, name]) => name);
  expect(names).toEqual(["dispatcher.ts", "next/cron.ts", "next/batches.ts", "hono.ts", "inngest.ts", "temporal.ts"]);
  expect(root).not.toBe("");
});

/** Calls cron until nothing is due. */
async function untilDone(call: () => Promise<Response>): Promise<unknown> {
  for (;;) {
    const report = (await (await call()).json()) as { nextAt: number | null; open: number };
    if (report.nextAt === null) return report;
    await new Promise((next) => void setTimeout(next, Math.max(0, report.nextAt ?? 0) - Date.now()));
  }
}

/** An event of OpenAI's for a batch. */
function event(secret: string, id: string, address: string): Request {
  const body = JSON.stringify({ type: "batch.completed", data: { id } });
  const at = String(Math.floor(Date.now() / 1_000));
  const signature = `v1,${createHmac("sha256", secret).update(`evt.${at}.${body}`).digest("base64")}`;
  const headers = { "webhook-id": "evt", "webhook-timestamp": at, "webhook-signature": signature };
  return new Request(address, { method: "POST", body, headers });
}

test("Next.js: a job ends by the cron route, which strangers cannot call", { timeout: 60_000 }, async () => {
  type Route = { GET(request: Request): Promise<Response> };
  const { GET, dispatcher } = await recipe<Route>("next/cron.ts");
  vi.stubEnv("CRON_SECRET", "of cron");
  onTestFinished(() => void vi.unstubAllEnvs());
  const call = (secret: string) =>
    GET(new Request("http://app.test/api/cron", { headers: { authorization: `Bearer ${secret}` } }));
  await dispatcher.enqueueMany([request("a"), request("b")]);
  expect((await call("a guess")).status).toBe(401);
  expect(await untilDone(() => call("of cron"))).toEqual({ nextAt: null, open: 0 });
  expect((await dispatcher.result("b")).status).toBe("succeeded");
});

test("Next.js: an event of the provider brings the results in", async () => {
  type Route = { POST(request: Request): Promise<Response> };
  const { POST, dispatcher } = await recipe<Route>("next/batches.ts");
  vi.stubEnv("WEBHOOK_SECRET", "a secret in plain text");
  onTestFinished(() => void vi.unstubAllEnvs());
  await dispatcher.enqueue(request("a"));
  await dispatcher.runDue({ maxMs: 5_000 });
  const [batch] = await dispatcher.batches();
  const id = batch?.providerBatchId ?? "";
  const address = "http://app.test/api/batches";
  expect((await POST(event("another secret of theirs", id, address))).status).toBe(401);
  expect((await POST(event("a secret in plain text", id, address))).status).toBe(204);
  expect((await dispatcher.stats()).outcomes.succeeded).toBe(1);
});

test("Hono: requests come in, and cron and events bring their results", async () => {
  type Module = {
    application(secrets: string): { request(input: Request | string, init?: RequestInit): Promise<Response> };
  };
  const { application, dispatcher } = await recipe<Module>("hono.ts");
  const app = application("a secret in plain text");
  const stored = await app.request("/requests", { method: "POST", body: JSON.stringify(request("a")) });
  expect([stored.status, await stored.json()]).toMatchObject([202, { id: "a" }]);
  await app.request("/due", { method: "POST" });
  const [batch] = await dispatcher.batches();
  const sent = event("a secret in plain text", batch?.providerBatchId ?? "", "http://app.test/batches");
  expect((await app.request(sent)).status).toBe(204);
  expect((await dispatcher.result("a")).status).toBe("succeeded");
  const end = await untilDone(async () => app.request("/due", { method: "POST" }));
  expect(end).toEqual({ nextAt: null, open: 0 });
});

/** Inngest's own engine for tests runs the steps; waits are ours to make. */
const inngestProgram = `
  import { InngestTestEngine } from "@inngest/test";
  import { dispatcher } from "./dispatcher.ts";
  import { job } from "./inngest.ts";
  const messages = [{ role: "user", content: "Hi." }];
  await dispatcher.enqueueMany(["a", "b"].map((id) => ({ id, body: { model: "gpt-5-mini", messages } })));
  const handler = () => new Promise((next) => setTimeout(next, 60));
  const steps = Array.from({ length: 100 }, (_, run) => ({ id: "wait " + run, handler }));
  const events = [{ name: "batches/enqueued", data: {} }];
  const { result } = await new InngestTestEngine({ function: job, events, steps }).execute();
  console.log(JSON.stringify({ result, status: (await dispatcher.result("a")).status }));
  process.exit();
`;

test("Inngest: a function runs the due work in steps, until there is none", { timeout: 60_000 }, async () => {
  await recipe<object>("dispatcher.ts");
  const own = `${folder}dispatcher-ts/`;
  writeFileSync(`${own}program.ts`, inngestProgram);
  const { stdout, stderr } = spawnSync(process.execPath, [`${own}program.ts`], { encoding: "utf8", timeout: 30_000 });
  expect(stdout.trim().split("\n").at(-1), stderr).toBe('{"result":{"open":0},"status":"succeeded"}');
});

test("Temporal: an activity drives the job, heartbeats, and ends when it is cancelled", async () => {
  const { runBatches, dispatcher } = await recipe<{ runBatches(): Promise<{ open: number }> }>("temporal.ts");
  const beats: unknown[] = [];
  const run = (signal: AbortSignal) => {
    const cancelled = new Promise<never>((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    });
    cancelled.catch(() => {});
    const context = Object.create(Context.prototype) as Record<string, unknown>;
    Object.defineProperties(context, {
      cancellationSignal: { value: signal },
      cancelled: { value: cancelled },
      heartbeat: { value: (details: unknown) => beats.push(details) },
      sleep: { value: (ms: number) => Promise.race([cancelled, new Promise((next) => void setTimeout(next, ms))]) },
    });
    return asyncLocalStorage.run(context as never, runBatches);
  };
  await dispatcher.enqueueMany([request("a"), request("b")]);
  const abort = new AbortController();
  abort.abort(new Error("The workflow was cancelled."));
  await expect(run(abort.signal)).rejects.toThrow("The workflow was cancelled.");
  expect(await run(new AbortController().signal)).toEqual({ open: 0 });
  expect(beats.length).toBeGreaterThan(1);
  expect(beats.at(-1)).toEqual({ open: 0 });
  expect((await dispatcher.result("a")).status).toBe("succeeded");
});
