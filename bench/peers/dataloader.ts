/**
 * dataloader with its cache off, as a server that must not keep results would use it. It has no
 * concurrency limit, so p-limit wraps the handler if the load sets one.
 */
import DataLoader from "dataloader";
import type { Handler, Loader, Shape } from "./contract.ts";
import { limited } from "./limit.ts";

export function dataloader(handler: Handler, shape: Shape): Loader {
  const { maxBatchSize, windowMs } = shape;
  const run = limited(handler, shape.slots);
  const loader = new DataLoader<number, number>(run, {
    cache: false,
    maxBatchSize,
    ...(windowMs > 0 ? { batchScheduleFn: (dispatch: () => void) => setTimeout(dispatch, windowMs) } : {}),
  });
  return { load: (value) => loader.load(value) };
}
