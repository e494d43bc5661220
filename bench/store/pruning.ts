/**
 * Prunes ended requests while single requests are enqueued. Measures requests pruned per second,
 * the latency of the single ones during and before it, and the space of a request after its end and
 * after pruning.
 */
import { createDispatcher, type Store } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import type { Measurement } from "../harness/child.ts";
import { median } from "../harness/numbers.ts";
import { PlainClient } from "./plain-client.ts";
import { BATCH, enqueueAll, NOW, requests, sealInput, seconds, settleAll } from "./work.ts";

/** Enough to see the rate; the report uses a million. */
export const PRUNED = 100_000;
const QUIET_CALLS = 200;
const BETWEEN_MS = 2;

/** `bytes`: the space that the store takes now. */
export async function prune(store: Store, count: number, bytes: () => Promise<number>): Promise<Measurement> {
  const empty = await bytes();
  for (let done = 0; done < count; done += BATCH) await endSome(store, `prune-${done}`, Math.min(BATCH, count - done));
  const full = await bytes();
  const quiet = await latencies(store, (calls) => calls < QUIET_CALLS);
  const client = new PlainClient("http://127.0.0.1:9");
  const dispatcher = createDispatcher({ store, accounts: [openaiAccount({ client })] });
  let isOver = false;
  const during = latencies(store, () => !isOver);
  let pruned = 0;
  const took = await seconds(async () => {
    pruned = (await dispatcher.prune({ olderThanMs: 0 })).requests;
  });
  isOver = true;
  const waits = await during;
  await dispatcher.stop();
  if (pruned !== count) throw new Error(`${pruned} of ${count} were pruned`);
  const left = await bytes();
  return {
    perSecond: count / took,
    quietMs: median(quiet),
    enqueueMs: median(waits),
    enqueueP99Ms: waits.sort((a, b) => a - b)[Math.floor(waits.length * 0.99)] ?? Number.NaN,
    enqueueMaxMs: waits.at(-1) ?? Number.NaN,
    enqueued: waits.length,
    fullBytes: (full - empty) / count,
    leftBytes: (left - empty) / count,
  };
}

async function endSome(store: Store, key: string, count: number): Promise<void> {
  await enqueueAll(store, count);
  await store.seal(sealInput(key));
  await settleAll(store, key, count);
  await store.transition(key, 1, { state: "done", leaseUntil: 0 }, NOW);
}

/** One request after the other, with a pause between them. */
async function latencies(store: Store, mayGoOn: (calls: number) => boolean): Promise<number[]> {
  const waits: number[] = [];
  while (mayGoOn(waits.length)) {
    const start = performance.now();
    await store.enqueue(requests(1), NOW);
    waits.push(performance.now() - start);
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS));
  }
  return waits;
}
