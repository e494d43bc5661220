// Run with --expose-gc: callers submit streams, each in its own AsyncLocalStorage store, and their
// streams end in every way while another stream of the same batch continues. Prints as JSON which
// stores and chunks are reachable afterwards. With `--caller-first` the first submit, which starts
// the engine, is also made in such a store.

import { AsyncLocalStorage } from "node:async_hooks";
import { batchStream, DONE, SKIP } from "../../src/index.ts";

const collect = (globalThis as { gc?: () => void }).gc ?? ((): void => {});
const storage = new AsyncLocalStorage<object>();
const task = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The end of each stream by the handler, by round; the others end by themselves. */
const ending: Readonly<Record<string, unknown>> = { first: DONE, done: DONE, fails: new Error("its own") };

/** Chunks of callers whose streams end. */
const chunks: WeakRef<object>[] = [];

function chunk(name: string): object {
  const made = { name };
  if (name !== "goes on") chunks.push(new WeakRef(made));
  return made;
}

let isOver = false;
const stream = batchStream<string, object>(
  async function* (names) {
    for (let round = 0; !isOver; round += 1) {
      await task();
      yield names.map(
        (name) => (round === 3 && name in ending ? ending[name] : round > 10 ? SKIP : chunk(name)) as object,
      );
    }
  },
  { maxBatchSize: 100, maxBufferedChunks: 2 },
);

const stores: Record<string, WeakRef<object>> = {};
const controller = new AbortController();

function caller(
  name: string,
  act: (chunks: AsyncIterable<object> & AsyncIterator<object>) => Promise<unknown>,
): Promise<unknown> {
  const store = { name };
  stores[name] = new WeakRef(store);
  const options = name.startsWith("aborts") ? { signal: controller.signal } : {};
  return storage.run(store, async () => act(stream(name, options)).catch(() => {}));
}

async function drain(chunks: AsyncIterable<object>): Promise<void> {
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
  caller("aborts unread", async () => {}),
);
for (let turn = 0; turn < 30; turn += 1) await task();
controller.abort();
await Promise.all(ends.splice(0));

async function reachable(): Promise<string[]> {
  for (let turn = 0; turn < 20; turn += 1) {
    await task();
    collect();
  }
  return Object.keys(stores).filter((name) => stores[name]?.deref() !== undefined);
}

const whileOthersGoOn = await reachable();
const chunksKept = chunks.filter((made) => made.deref() !== undefined).length;
const running = stream.inspect().length;
isOver = true;
await reading;
const afterTheBatch = await reachable();
console.log(JSON.stringify({ running, chunksMade: chunks.length, chunksKept, whileOthersGoOn, afterTheBatch }));
