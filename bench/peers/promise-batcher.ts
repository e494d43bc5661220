/**
 * promise-batcher. With one slot it runs with its thresholds at `[1, Infinity]`, the only setting
 * in which it keeps filling a batch while another runs.
 */
import { Batcher } from "promise-batcher";
import type { Handler, Loader, Shape } from "./contract.ts";

export function promiseBatcher(handler: Handler, shape: Shape): Loader {
  const batcher = new Batcher<number, number>({
    batchingFunction: handler,
    maxBatchSize: shape.maxBatchSize,
    queuingThresholds: shape.slots === 1 ? [1, Number.POSITIVE_INFINITY] : [1],
    ...(shape.windowMs > 0 ? { queuingDelay: shape.windowMs } : {}),
  });
  return { load: (value) => batcher.getResult(value) };
}
