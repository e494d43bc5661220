/**
 * batshit with a window and a size. Its resolver gets the whole result and one query, so results
 * are in a Map. It has no concurrency limit, so p-limit wraps the handler if the load sets one.
 */
import { create, windowedFiniteBatchScheduler } from "@yornaath/batshit";
import type { Handler, Loader, Shape } from "./contract.ts";
import { limited } from "./limit.ts";

export function batshit(handler: Handler, shape: Shape): Loader {
  const run = limited(handler, shape.slots);
  const batcher = create<Map<number, number>, number, number>({
    fetcher: async (values) => {
      const results = await run(values);
      const byValue = new Map<number, number>();
      for (let at = 0; at < values.length; at += 1) byValue.set(values[at] as number, results[at] as number);
      return byValue;
    },
    resolver: (byValue, value) => byValue.get(value) as number,
    scheduler: windowedFiniteBatchScheduler({
      windowMs: Math.max(1, shape.windowMs),
      maxBatchSize: shape.maxBatchSize,
    }),
  });
  return { load: (value) => batcher.fetch(value) };
}
