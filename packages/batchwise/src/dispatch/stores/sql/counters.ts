// Stored counters, because counting would cost more with every ended request.

import { run, type Steps } from "./steps.ts";

/** `done`: ended batches; `waiting`: pending deliveries. A store may have more of them. */
export function* count<Name extends string = "done" | "waiting">(name: Name, more: number): Steps<void> {
  if (more !== 0) yield* run("UPDATE batchwise_counter SET value = value + ? WHERE name = ?", more, name);
}
