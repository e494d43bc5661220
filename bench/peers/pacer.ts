/**
 * TanStack Pacer's AsyncBatcher. It gives no result per item, so each item carries its own
 * resolvers, and its `wait` is a debounce. Without a window it never fires below its size, so the
 * end of a burst flushes it; this saves the two timers per item that it needs otherwise.
 */
import { AsyncBatcher } from "@tanstack/pacer/async-batcher";
import type { Handler, Loader, Shape } from "./contract.ts";
import { limited } from "./limit.ts";

interface Task {
  readonly value: number;
  readonly resolve: (result: number) => void;
  readonly reject: (error: unknown) => void;
}

export function pacer(handler: Handler, shape: Shape): Loader {
  const run = limited(handler, shape.slots);
  const batcher = new AsyncBatcher<Task>(
    async (tasks) => {
      try {
        const results = await run(tasks.map((task) => task.value));
        for (let at = 0; at < tasks.length; at += 1) tasks[at]?.resolve(results[at] as number);
      } catch (error) {
        for (const task of tasks) task.reject(error);
      }
    },
    { maxSize: shape.maxBatchSize, wait: shape.windowMs > 0 ? shape.windowMs : Number.POSITIVE_INFINITY },
  );
  return {
    load: (value) =>
      new Promise((resolve, reject) => {
        void batcher.addItem({ value, resolve, reject });
      }),
    endBurst: () => void batcher.flush(),
  };
}
