/**
 * Sends requests all the way through one dispatcher, or one job: enqueued, sealed, uploaded, run by
 * a provider in another process, collected, settled and read by their cursors. It measures the peak
 * memory of this process meanwhile, and checks that each came back once.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import {
  createDispatcher,
  type Dispatcher,
  type DispatcherOptions,
  type DispatchRequest,
  type Outcome,
  runBatch,
  type Store,
} from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import { sqliteStore } from "batchwise/dispatch/sqlite";
import type { Measurement } from "../harness/child.ts";
import { PlainClient } from "./plain-client.ts";
import { CHUNK, dispatchRequest, seconds } from "./work.ts";

const providerFile = fileURLToPath(new URL("provider-process.ts", import.meta.url));
const POLL_MS = 100;

/** Peak memory in MB, and requests per second from the first enqueue to the last outcome. */
export function passing(file: string, count: number): Promise<Measurement> {
  return passingIn(sqliteStore({ path: file }), count);
}

/** The same in any store, which is closed afterwards. Uses batches of up to 50,000. */
export function passingIn(store: Store, count: number): Promise<Measurement> {
  return withProvider(store, async (options) => {
    const dispatcher = createDispatcher({ ...options, thresholds: { maxAgeMs: 1_000 } });
    await dispatcher.start();
    const took = await seconds(async () => {
      await Promise.all([enqueueAll(dispatcher, count), readAll(dispatcher.outcomes(), count)]);
    });
    await dispatcher.stop();
    return { perSecond: count / took };
  });
}

/**
 * The same by `runBatch` from an async iterable, and once more when all is done: `againPerSecond`
 * enqueued and read.
 */
export function job(file: string, count: number): Promise<Measurement> {
  return withProvider(sqliteStore({ path: file }), async (options) => {
    const run = () => runBatch({ ...options, job: "bench", requests: each(count) });
    const took = await seconds(() => readAll(run(), count));
    const peakMb = process.resourceUsage().maxRSS / 1_024;
    const again = await seconds(() => readAll(run(), count));
    return { firstPeakMb: peakMb, perSecond: count / took, againPerSecond: count / again };
  });
}

type Options = Pick<DispatcherOptions, "store" | "accounts" | "onError">;

async function withProvider(store: Store, work: (options: Options) => Promise<Measurement>): Promise<Measurement> {
  const provider = spawn(process.execPath, ["--no-warnings", providerFile], { stdio: ["pipe", "pipe", "inherit"] });
  const client = await clientOf(provider);
  const errors: unknown[] = [];
  const accounts = [openaiAccount({ client, pollMs: POLL_MS })];
  const figures = await work({ store, accounts, onError: (error) => errors.push(error) });
  await store.close();
  client.close();
  provider.stdin?.end();
  await once(provider, "close");
  if (errors.length > 0) throw new AggregateError(errors, "The dispatcher reported errors");
  return { peakMb: process.resourceUsage().maxRSS / 1_024, ...figures };
}

async function* each(count: number): AsyncGenerator<DispatchRequest> {
  for (let n = 0; n < count; n += 1) yield dispatchRequest(String(n));
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

/** Each of them once, with an answer. */
async function readAll(outcomes: AsyncIterable<Outcome>, count: number): Promise<void> {
  const seen = new Uint8Array(count);
  let left = count;
  for await (const { id, status, response } of outcomes) {
    if (status !== "succeeded" || response?.statusCode !== 200) throw new Error(`Request ${id} ended as ${status}`);
    if (seen[Number(id)] !== 0) throw new Error(`Request ${id} ended twice, or was never sent`);
    seen[Number(id)] = 1;
    left -= 1;
    if (left === 0) return;
  }
}
