// Compiled, not run: what is inferred from each form of handler, without a type written at the
// call.

import {
  type Batcher,
  type BatchFunction,
  batch,
  createBatcher,
  createTokenBatcher,
  type TokenBatcher,
} from "batchwise";
import { same } from "./same.ts";

const inferred = {
  sync: createBatcher((items: number[]) => items.map(String)),
  async: createBatcher(async (items: number[]) => items.map(String)),
  errorsInPlaces: createBatcher((items: number[]) => items.map((item) => (item > 0 ? item : new Error("negative")))),
  promisesInPlaces: createBatcher((items: number[]) => items.map(async (item) => String(item))),
  typedArray: createBatcher(async (items: string[]) => new Float32Array(items.length)),
  bigTypedArray: createBatcher((items: string[]) => new BigInt64Array(items.length)),
  contextOnly: createBatcher((items: number[], { signal }) => items.map((item) => ({ item, gone: signal.aborted }))),
};
same<typeof inferred.sync, Batcher<number, string>>(inferred.sync, true);
same<typeof inferred.async, Batcher<number, string>>(inferred.async, true);
same<typeof inferred.errorsInPlaces, Batcher<number, number>>(inferred.errorsInPlaces, true);
same<typeof inferred.promisesInPlaces, Batcher<number, string>>(inferred.promisesInPlaces, true);
same<typeof inferred.typedArray, Batcher<string, number>>(inferred.typedArray, true);
same<typeof inferred.bigTypedArray, Batcher<string, bigint>>(inferred.bigTypedArray, true);
same<typeof inferred.contextOnly, Batcher<number, { item: number; gone: boolean }>>(inferred.contextOnly, true);

class Model {
  run(items: number[]): string[] {
    return items.map(String);
  }
}

const objects = {
  run: createBatcher({ run: (items: number[]) => items.map(String), close() {} }),
  instance: createBatcher(new Model()),
  typedArray: createBatcher({ run: async (items: number[]) => Float32Array.from(items) }),
  prepareItem: createBatcher({
    prepareItem: (item: string) => item.length,
    run: async (lengths: number[]) => lengths.map((length) => length > 1),
  }),
  prepare: createBatcher({
    prepare: (items: string[]) => ({ rows: items.length }),
    run: async ({ rows }: { rows: number }) => Array.from({ length: rows }, (_, row) => row),
  }),
  finish: createBatcher({ run: async (items: number[]) => items, finish: (output: number[]) => output.map(String) }),
  allStages: createBatcher({
    prepareItem: (item: string) => item.length,
    prepare: async (lengths: number[]) => Float32Array.from(lengths),
    run: async (input: Float32Array) => ({ output: input }),
    finish: ({ output }: { output: Float32Array }) => [...output].map(String),
  }),
};
same<typeof objects.run, Batcher<number, string>>(objects.run, true);
same<typeof objects.instance, Batcher<number, string>>(objects.instance, true);
same<typeof objects.typedArray, Batcher<number, number>>(objects.typedArray, true);
same<typeof objects.prepareItem, Batcher<string, boolean>>(objects.prepareItem, true);
same<typeof objects.prepare, Batcher<string, number>>(objects.prepare, true);
same<typeof objects.finish, Batcher<number, string>>(objects.finish, true);
same<typeof objects.allStages, Batcher<string, string>>(objects.allStages, true);

const explicit = createBatcher<string, number>(async (items) => items.map((item) => item.length));
same<typeof explicit, Batcher<string, number>>(explicit, true);

const callable = batch(async (items: number[]) => items.map(String), { cost: (item) => item });
same<typeof callable, BatchFunction<number, string>>(callable, true);
same<ReturnType<typeof callable>, Promise<string>>(callable(1), true);
same<ReturnType<typeof callable.submitMany>, Promise<string[]>>(callable.submitMany([1]), true);
same<ReturnType<typeof callable.submitSettled>, Promise<PromiseSettledResult<string>[]>>(
  callable.submitSettled([1]),
  true,
);

const summaries = createTokenBatcher(async (texts: string[]) => texts.map((text) => text.slice(1)), {
  maxBatchTokens: 8_000,
  estimateTokens: (text) => text.length,
});
same<typeof summaries, TokenBatcher<string, string>>(summaries, true);
same<Promise<string>, ReturnType<typeof summaries.submit>>(summaries.submit("a", { tokens: 3, priority: 1 }), true);
same<Promise<string[]>, ReturnType<typeof summaries.submitMany>>(
  summaries.submitMany(["a"], { tokens: (text) => text.length, priority: (text) => -text.length }),
  true,
);
same<number | "learn", typeof summaries.options.maxBatchTokens>(summaries.options.maxBatchTokens, true);
summaries.configure({ maxBatchTokens: 16_000, concurrency: 2 });
// Code that takes any batcher takes a token batcher.
export const anyBatcher: Batcher<string, string> = summaries;

const scores = createTokenBatcher((texts: string[]) => new Float32Array(texts.length));
same<typeof scores, TokenBatcher<string, number>>(scores, true);
