/**
 * The space of a request in a store in each of its states, and the log that the store writes for
 * each step: bytes per request of 2 KB with a result of 500 bytes. Also the speed of reading the
 * largest batch for its upload.
 */
import { createDispatcher, type Store } from "batchwise/dispatch";
import { openaiAccount } from "batchwise/dispatch/openai";
import type { Measurement } from "../harness/child.ts";
import { PlainClient } from "./plain-client.ts";
import { BATCH, enqueueAll, NOW, sealInput, seconds, settleAll } from "./work.ts";

/** Members that the dispatcher reads at once for bodies of 2 KB. */
const PAGE = 60;

/** Bytes that the store takes now, and total bytes of its log since the start. */
export interface Sizes {
  readonly bytes: () => Promise<number>;
  readonly written: () => Promise<number>;
}

export async function size(store: Store, asked: number, sizes: Sizes): Promise<Measurement> {
  const count = Math.min(asked, BATCH);
  const seen: Record<string, number> = {};
  const empty = await sizes.bytes();
  const step = async (name: string, work: () => Promise<unknown>): Promise<void> => {
    const before = await sizes.written();
    await work();
    seen[`${name}Written`] = ((await sizes.written()) - before) / count;
    seen[`${name}Bytes`] = ((await sizes.bytes()) - empty) / count;
  };
  await step("waiting", () => enqueueAll(store, count));
  await step("inBatch", () => store.seal(sealInput("size")));
  seen.uploadPerSecond = count / (await seconds(() => readAll(store, count)));
  await step("ended", async () => {
    await settleAll(store, "size", count);
    await store.transition("size", 1, { state: "done", leaseUntil: 0 }, NOW);
  });
  await step("pruned", () => pruneAll(store));
  return seen;
}

/** Reads as an upload does. */
async function readAll(store: Store, count: number): Promise<void> {
  let read = 0;
  for (let fromOrd = 0; fromOrd < count; ) {
    const page = await store.requests({ batchKey: "size", fromOrd, limit: PAGE, bodies: true });
    read += page.length;
    fromOrd = (page.at(-1)?.ord ?? count) + 1;
  }
  if (read !== count) throw new Error(`${read} of ${count} members were read`);
}

async function pruneAll(store: Store): Promise<void> {
  const dispatcher = createDispatcher({
    store,
    accounts: [openaiAccount({ client: new PlainClient("http://127.0.0.1:9") })],
  });
  await dispatcher.prune({ olderThanMs: 0 });
  await dispatcher.stop();
}
