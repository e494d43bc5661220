/**
 * No batching: one call of the handler per item, behind a concurrency limit if the load sets one.
 */
import type { Handler, Loader, Shape } from "./contract.ts";
import { limited } from "./limit.ts";

export function unbatched(handler: Handler, shape: Shape): Loader {
  const run = limited(handler, shape.slots);
  return { load: async (value) => (await run([value]))[0] as number };
}
