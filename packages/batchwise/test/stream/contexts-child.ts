// Run with --expose-gc: callers submit streams, each in an AsyncLocalStorage store of its own, and their streams end in
// every way while another stream of the same batch goes on. Prints, as JSON, which stores are still reachable after it.
// With `--caller-first` the first submit of all, which sets the engine in motion, is made in such a store too.

import { AsyncLocalStorage } from "node:async_hooks";
import { batchStream, DONE, SKIP } from "../../src/index.ts";

const collect = (globalThis as { gc?: () => void }).gc ?? ((): void => {});
const storage = new AsyncLocalStorage<object>();
const task = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Who ends at which round by the handler; the others end by themselves. */
const ending: Readonly<Record<string, unknown>> = { first: DONE, done: DONE, fails: new Error("its own") };

let isOver = false;
const stream = batchStream<string, string>(
  async function* (names) {
    for (let round = 0; !isOver; round += 1) {
      await task();
      yield names.map((name) => (round === 3 && name in ending ? ending[name] : round > 10 ? SKIP : name) as string);
    }
  },
  { maxBatchSize: 100, maxBufferedChunks: 2 },
);

const stores: Record<string, WeakRef<object>> = {};
const controller = new AbortController();

function caller(name: string, act: (chunks: AsyncIterableIterator<string>) => Promise<unknown>): Promise<unknown> {
  const store = { name };
  stores[name] = new WeakRef(store);
  const options = name === "aborts" ? { signal: controller.signal } : {};
  return storage.run(store, async () => act(stream(name, options)).catch(() => {}));
}

async function drain(chunks: AsyncIterableIterator<string>): Promise<void> {
  for await (const _ of chunks);
}

const ends: Promise<unknown>[] = [];
if (process.argv.includes("--caller-first")) ends.push(caller("first", drain));
const reading = drain(stream("goes on"));
ends.push(
  caller("done", drain),
  caller("fails", drain),
  caller("leaves", async (chunks) => {
    for await (const _ of chunks) break;
  }),
  caller("aborts", drain),
  caller("never reads", async (chunks) => {
    for (let turn = 0; turn < 20; turn += 1) await task();
    await chunks.return?.();
  }),
);
for (let turn = 0; turn < 30; turn += 1) await task();
controller.abort();
await Promise.all(ends.splice(0));

async function reachable(): Promise<string[]> {
  for (let round = 0; round < 5; round += 1) {
    await task();
    collect();
  }
  return Object.keys(stores).filter((name) => stores[name]?.deref() !== undefined);
}

const whileOthersGoOn = await reachable();
const running = stream.inspect().length;
isOver = true;
await reading;
const afterTheBatch = await reachable();
console.log(JSON.stringify({ running, whileOthersGoOn, afterTheBatch }));
