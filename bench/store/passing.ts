/**
 * Lets requests pass all the way through one dispatcher on SQLite: taken in, sealed, uploaded, run by a provider in
 * another process, collected, settled and read by their cursors. What it measures is the peak memory of this process
 * while they do; that each came back once is checked on the way.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createDispatcher, type Dispatcher } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { sqliteStore } from "batchwise/dispatch/sqlite";
import type { Measurement } from "../harness/child.ts";
import { PlainClient } from "./plain-client.ts";
import { CHUNK, dispatchRequest, seconds } from "./work.ts";

const providerFile = fileURLToPath(new URL("provider-process.ts", import.meta.url));
const POLL_MS = 100;

/** Peak memory in MB, and requests a second from the first enqueue to the last outcome. */
export async function passing(file: string, count: number): Promise<Measurement> {
  const provider = spawn(process.execPath, ["--no-warnings", providerFile], { stdio: ["pipe", "pipe", "inherit"] });
  const client = await clientOf(provider);
  const store = sqliteStore({ path: file });
  const errors: unknown[] = [];
  const dispatcher = createDispatcher({
    store,
    accounts: [openaiAccount({ client, pollMs: POLL_MS })],
    thresholds: { maxAgeMs: 1_000 },
    onError: (error) => errors.push(error),
  });
  await dispatcher.start();
  const took = await seconds(async () => {
    await Promise.all([enqueueAll(dispatcher, count), readAll(dispatcher, count)]);
  });
  await dispatcher.stop();
  await store.close();
  client.close();
  provider.stdin?.end();
  await once(provider, "close");
  if (errors.length > 0) throw new AggregateError(errors, "The dispatcher reported errors");
  return { peakMb: process.resourceUsage().maxRSS / 1_024, perSecond: count / took };
}

async function clientOf(provider: ChildProcess): Promise<PlainClient> {
  const [port] = await once(provider.stdout as NonNullable<ChildProcess["stdout"]>, "data");
  return new PlainClient(`http://127.0.0.1:${Number(port)}/v1`);
}

async function enqueueAll(dispatcher: Dispatcher, count: number): Promise<void> {
  for (let from = 0; from < count; from += CHUNK) {
    const length = Math.min(CHUNK, count - from);
    await dispatcher.enqueueMany(Array.from({ length }, (_, n) => dispatchRequest(String(from + n))));
  }
}

/** Each of them once, with an answer in it. */
async function readAll(dispatcher: Dispatcher, count: number): Promise<void> {
  const seen = new Uint8Array(count);
  let left = count;
  for await (const { id, status, response } of dispatcher.outcomes()) {
    if (status !== "succeeded" || response?.statusCode !== 200) throw new Error(`Request ${id} ended as ${status}`);
    if (seen[Number(id)] !== 0) throw new Error(`Request ${id} ended twice, or was never sent`);
    seen[Number(id)] = 1;
    left -= 1;
    if (left === 0) return;
  }
}
