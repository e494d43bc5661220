// Figures that are kept, because counting them would cost more with every request that has ended.

import { run, type Steps } from "./steps.ts";

/** `done`: batches that ended; `waiting`: deliveries not made. A store may have more of them. */
export function* count<Name extends string = "done" | "waiting">(name: Name, more: number): Steps<void> {
  if (more !== 0) yield* run("UPDATE batchwise_counter SET value = value + ? WHERE name = ?", more, name);
}
