/**
 * The measures of every store: requests enqueued one by one and by the thousand, sealed and
 * settled.
 */
import { createDispatcher, type Dispatcher, type DispatchRequest, type Store } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import type { Measurement } from "../harness/child.ts";
import { median } from "../harness/numbers.ts";
import { PlainClient } from "./plain-client.ts";
import {
  BATCH,
  byCallers,
  CHUNK,
  callsOf,
  dispatchRequests,
  enqueueAll,
  NOW,
  requests,
  sealInput,
  seconds,
  settleAll,
} from "./work.ts";

const INGEST = 100_000;
const SINGLES = 20_000;

/** Requests per second by calls of 1,000. */
async function ingest(store: Store, count: number): Promise<Measurement> {
  const calls = callsOf(count);
  const took = await seconds(async () => {
    for (const call of calls) await store.enqueue(call, NOW);
  });
  return { perSecond: count / took };
}

/**
 * Requests per second by callers that enqueue one, wait until it is durable, and then enqueue the
 * next.
 */
async function single(store: Store, count: number): Promise<Measurement> {
  const latencies: number[] = [];
  const took = await byCallers(requests(count), async (request) => {
    const start = performance.now();
    await store.enqueue([request], NOW);
    latencies.push(performance.now() - start);
  });
  return { perSecond: count / took, medianMs: median(latencies) };
}

/** The same two through the dispatcher, which checks, encodes, measures and names them. */
async function dispatchMany(store: Store, count: number): Promise<Measurement> {
  return enqueueCalls(
    store,
    Array.from({ length: count / CHUNK }, () => dispatchRequests(CHUNK)),
  );
}

/** By callers that let the dispatcher make the ids. */
async function dispatchManyUnnamed(store: Store, count: number): Promise<Measurement> {
  const unnamed = (): DispatchRequest[] => dispatchRequests(CHUNK).map(({ body }) => ({ body }));
  return enqueueCalls(store, Array.from({ length: count / CHUNK }, unnamed));
}

async function enqueueCalls(store: Store, calls: readonly (readonly DispatchRequest[])[]): Promise<Measurement> {
  const dispatcher = idleDispatcher(store);
  const took = await seconds(async () => {
    for (const call of calls) await dispatcher.enqueueMany(call);
  });
  await dispatcher.stop();
  return { perSecond: (calls.length * CHUNK) / took };
}

async function dispatchSingle(store: Store, count: number): Promise<Measurement> {
  const dispatcher = idleDispatcher(store);
  const took = await byCallers(dispatchRequests(count), (request) => dispatcher.enqueue(request));
  await dispatcher.stop();
  return { perSecond: count / took };
}

/** Enqueues requests and never starts: nothing is sent, so nothing has to answer. */
function idleDispatcher(store: Store): Dispatcher {
  const client = new PlainClient("http://127.0.0.1:9");
  return createDispatcher({ store, accounts: [openaiAccount({ client })] });
}

/**
 * Milliseconds to seal 50,000, or all if there are fewer, and requests settled per second in chunks
 * of 1,000.
 */
async function batch(store: Store, count: number): Promise<Measurement> {
  const size = Math.min(count, BATCH);
  const seals: number[] = [];
  const settles: number[] = [];
  for (let n = 0; n < count / size; n += 1) {
    await enqueueAll(store, size);
    seals.push(await seconds(async () => void (await store.seal(sealInput(`seal-${n}`)))));
    settles.push(await seconds(() => settleAll(store, `seal-${n}`, size)));
  }
  const { outcomes } = await store.probe(1, NOW);
  if (outcomes.succeeded !== count) throw new Error(`${outcomes.succeeded} of ${count} were settled`);
  return { sealMs: median(seals) * 1_000, perSecond: size / median(settles) };
}

export const anyStore = {
  ingest: { run: ingest, count: INGEST },
  single: { run: single, count: SINGLES },
  dispatchMany: { run: dispatchMany, count: INGEST },
  dispatchManyUnnamed: { run: dispatchManyUnnamed, count: INGEST },
  dispatchSingle: { run: dispatchSingle, count: SINGLES },
  batch: { run: batch, count: BATCH },
};
