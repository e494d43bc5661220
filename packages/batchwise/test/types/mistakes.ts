// Compiled, not run: mistakes that the compiler has to find. A line below `@ts-expect-error` that
// compiles is an error.

import { batch, batched, createBatcher, createTokenBatcher } from "batchwise";

const double = batch(async (items: number[]) => items.map((item) => item * 2));

// @ts-expect-error: an item of another type
double("1");
// @ts-expect-error: not an array
double.submitMany(1);
// @ts-expect-error: an unknown submit option
double(1, { timeout: 5 });
// @ts-expect-error: a priority that is no number
double(1, { priority: "high" });
// @ts-expect-error: a name that is misspelt
batch((items: number[]) => items, { maxBatchsize: 4 });
// @ts-expect-error: an order that there is not
batch((items: number[]) => items, { order: "shortest" });
// @ts-expect-error: a cap that is neither a number nor learned
batch((items: number[]) => items, { maxBatchCost: "auto" });
// @ts-expect-error: a value that is not allowed
batch((items: number[]) => items, { onFull: "drop-newest" });
// @ts-expect-error: a cost of another item
batch((items: number[]) => items, { cost: (item: string) => item.length });
// @ts-expect-error: a cache of another result
batch((items: number[]) => items, { dedupe: String, cache: new Map<string, string>() });
// @ts-expect-error: a handler that takes no array
batch((item: number) => [item]);
// @ts-expect-error: a handler that returns no array
createBatcher(async (items: number[]) => items.length);
// @ts-expect-error: an option that cannot change while it runs
double.configure({ timeoutMs: 5 });
// @ts-expect-error: options are read, not written
double.options.maxBatchSize = 4;
// @ts-expect-error: an event that does not exist
double.on("error", () => {});
// @ts-expect-error: a token batcher has its own word for the cap
createTokenBatcher((texts: string[]) => texts, { maxBatchCost: 5 });
const prompts = createTokenBatcher((texts: string[]) => texts);
// @ts-expect-error: a token batcher has its own word for the cost of an item
prompts.submit("a", { cost: 5 });
// @ts-expect-error: a single submit counts its own item
prompts.submit("a", { tokens: (text: string) => text.length });
// @ts-expect-error: a token batcher has its own word for the cap
prompts.configure({ maxBatchCost: 5 });

export class Wrong {
  // @ts-expect-error: the method takes no array
  @batched()
  async one(item: number): Promise<number[]> {
    return [item];
  }

  // @ts-expect-error: the method returns no promise of an array
  @batched()
  async sum(items: number[]): Promise<number> {
    return items.length;
  }
}
