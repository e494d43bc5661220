/** No batching at all: one call of the handler an item, behind the limit where there is one. */
import type { Handler, Loader, Shape } from "./contract.ts";
import { limited } from "./limit.ts";

export function unbatched(handler: Handler, shape: Shape): Loader {
  const run = limited(handler, shape.slots);
  return { load: async (value) => (await run([value]))[0] as number };
}
