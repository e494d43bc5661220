// Downloads of results that never end, over real sockets and with the official client: they hold up
// no other account, what came is settled, and the connection is given up.

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { createDispatcher, type Dispatcher, memoryStore } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { expect, onTestFinished, test } from "vitest";

const TIMEOUT_MS = 1_500;
const foreign = `${JSON.stringify({ custom_id: "stranger-1", response: { status_code: 200, body: {} } })}\n`;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Sends the results of one download; `lines` are the right ones, `isOpen` is false once the caller
 * has gone.
 */
type Drip = (send: (text: string) => Promise<void>, lines: readonly string[], isOpen: () => boolean) => Promise<void>;

/**
 * A provider on a port of this machine, whose results drip for the key "slow" as long as `drip` is
 * set.
 */
async function provider(first: Drip) {
  const fake = fakeProvider({ plan: { validateMs: 0, runMs: 20, finalizeMs: 0 } });
  const state = { drip: first as Drip | null, open: 0, opened: 0 };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = "", method = "GET", headers } = request;
    const body = method === "POST" ? { body: new Uint8Array(await buffer(request)) } : {};
    const answer = await fake.fetch(`http://fake.test${url}`, { method, headers: headers as never, ...body });
    const isSlow = headers.authorization === "Bearer slow" && url.endsWith("/content");
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "application/json" });
    const { drip } = state;
    if (isSlow && drip !== null) await dripInto(response, (await answer.text()).split(/(?<=\n)/), drip);
    else response.write(new Uint8Array(await answer.arrayBuffer()));
    response.end();
  }

  async function dripInto(response: ServerResponse, lines: readonly string[], drip: Drip): Promise<void> {
    state.open += 1;
    state.opened += 1;
    response.once("close", () => {
      state.open -= 1;
    });
    const send = async (text: string): Promise<void> => {
      if (response.write(text)) return;
      while (response.writableNeedDrain && !response.destroyed) await pause(1);
    };
    await drip(send, lines, () => !response.destroyed);
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const account = (name: string) => {
    const client = new OpenAI({ apiKey: name, baseURL: `http://127.0.0.1:${port}/v1` });
    return openaiAccount({ client, name, models: [name], pollMs: 50, requestTimeoutMs: TIMEOUT_MS });
  };
  return { state, accounts: [account("slow"), account("quick")] };
}

async function running(accounts: Awaited<ReturnType<typeof provider>>["accounts"], maxRequests: number) {
  const told: unknown[] = [];
  const dispatcher = createDispatcher({
    ...{ store: memoryStore(), accounts, thresholds: { maxRequests, maxAgeMs: 50 } },
    onError: (error) => told.push((error as { readonly code?: unknown }).code),
  });
  await dispatcher.start();
  onTestFinished(() => dispatcher.stop());
  return { dispatcher, told };
}

async function enqueue(dispatcher: Dispatcher, model: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, n) => `${model}${n}`);
  await dispatcher.enqueueMany(ids.map((id) => ({ id, body: { model, messages: [{ role: "user", content: id }] } })));
  return ids;
}

test("that send a stranger's line now and then do not affect other accounts, are cut off, and are read again", async () => {
  const { state, accounts } = await provider(async (send, _lines, isOpen) => {
    while (isOpen()) {
      await send(foreign);
      await pause(30);
    }
  });
  const { dispatcher } = await running(accounts, 1);
  const slow = await enqueue(dispatcher, "slow", 8);
  await expect.poll(() => state.open, { timeout: 10_000 }).toBeGreaterThan(2);
  const quick = await enqueue(dispatcher, "quick", 3);
  for (const id of quick) expect(await dispatcher.result(id)).toMatchObject({ status: "succeeded" });
  expect(state.open).toBeGreaterThan(0);
  await expect.poll(() => state.opened - state.open, { timeout: 10_000 }).toBeGreaterThan(3);
  const errors = (await dispatcher.batches()).map(({ lastError }) => lastError?.code);
  expect(errors).toContain("timeout");
  state.drip = null;
  for (const id of slow) expect(await dispatcher.result(id)).toMatchObject({ status: "succeeded", attempts: 1 });
}, 90_000);

test("that send their own lines slowly are settled while they are open, and given up where nothing follows", async () => {
  const { state, accounts } = await provider(async (send, lines, isOpen) => {
    for (const line of lines) {
      await pause(600);
      await send(line);
    }
    while (isOpen()) await pause(50);
  });
  const { dispatcher } = await running(accounts, 12);
  const ids = await enqueue(dispatcher, "slow", 12);
  expect(await dispatcher.result("slow0")).toMatchObject({ status: "succeeded", attempts: 1 });
  expect(state).toMatchObject({ open: 1, opened: 1 });
  for (const id of ids) expect(await dispatcher.result(id)).toMatchObject({ status: "succeeded", attempts: 1 });
  await expect.poll(() => state.open, { timeout: 10_000 }).toBe(0);
}, 60_000);

test("of strangers' lines without end stop at a bound, and the batch says why", async () => {
  let sent = 0;
  const { state, accounts } = await provider(async (send, _lines, isOpen) => {
    while (isOpen()) {
      sent += 1_000;
      await send(foreign.repeat(1_000));
    }
  });
  const { dispatcher, told } = await running(accounts, 2);
  await enqueue(dispatcher, "slow", 2);
  await expect
    .poll(async () => (await dispatcher.batches())[0]?.lastError?.code, { timeout: 10_000 })
    .toBe("foreign_lines");
  await expect.poll(() => state.open).toBe(0);
  // Lines that are in buffers when the reader stops.
  expect(sent).toBeLessThan(100_000);
  expect(told).toContain("foreign_lines");
  state.drip = null;
  for (const id of ["slow0", "slow1"]) expect(await dispatcher.result(id)).toMatchObject({ status: "succeeded" });
}, 60_000);
