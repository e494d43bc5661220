// Compiled, not run: what goes in as types comes out of handlers in threads and of connections.

import type { MessagePort } from "node:worker_threads";
import {
  type Batcher,
  type BatchFunction,
  batch,
  createBatcher,
  createTokenBatcher,
  type TokenBatcher,
} from "batchwise";
import { connectBatcher, type SharedBatcher, shareBatcher, threadHandler } from "batchwise/threads";
import { same } from "./same.ts";

const lengths = threadHandler<string, number>("/handler.js", { workers: 2 });
const lists = threadHandler<string, number[]>("/handler.js");
const errors = threadHandler<string, number | undefined>("/handler.js");

const made = {
  callable: batch(lengths),
  batcher: createBatcher(lengths, { concurrency: 2 }),
  tokens: createTokenBatcher(lists),
  lists: createBatcher(lists),
  gaps: createBatcher(errors),
};
same<typeof made.callable, BatchFunction<string, number>>(made.callable, true);
same<typeof made.batcher, Batcher<string, number>>(made.batcher, true);
same<typeof made.tokens, TokenBatcher<string, number[]>>(made.tokens, true);
same<typeof made.lists, Batcher<string, number[]>>(made.lists, true);
same<typeof made.gaps, Batcher<string, number | undefined>>(made.gaps, true);

const shared: SharedBatcher[] = [
  shareBatcher(made.callable),
  shareBatcher(made.batcher, { transferResults: true }),
  shareBatcher(made.tokens),
];
const port: MessagePort | undefined = shared[0]?.port();

const remote = connectBatcher<string, number[]>(port as MessagePort);
const answers = {
  one: remote.submit("a", { signal: new AbortController().signal, transfer: [new ArrayBuffer(1)] }),
  many: remote.submitMany(["a"], { priority: (item) => item.length, timeoutMs: 5 }),
  sync: remote.submitSync("a", { priority: 1, tokens: 3, timeoutMs: 5 }),
  manySync: remote.submitManySync(["a"], { cost: (item) => item.length }),
};
same<typeof answers.one, Promise<number[]>>(answers.one, true);
same<typeof answers.many, Promise<number[][]>>(answers.many, true);
same<typeof answers.sync, number[]>(answers.sync, true);
same<typeof answers.manySync, number[][]>(answers.manySync, true);

// @ts-expect-error nothing aborts while the thread is blocked
remote.submitSync("a", { signal: new AbortController().signal });
// @ts-expect-error a stream of chunks is no single result
shareBatcher({ submit: (item: string) => [item] });
