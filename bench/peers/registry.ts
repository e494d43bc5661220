/**
 * Every contender by name. Modules load on demand, so a process holds only the code of the
 * contender that it measures.
 */
import type { LoaderFactory } from "./contract.ts";

const contenders: Readonly<Record<string, () => Promise<LoaderFactory>>> = {
  "hand-written": async () => (await import("./hand-written.ts")).handWritten,
  unbatched: async () => (await import("./unbatched.ts")).unbatched,
  dataloader: async () => (await import("./dataloader.ts")).dataloader,
  batshit: async () => (await import("./batshit.ts")).batshit,
  pacer: async () => (await import("./pacer.ts")).pacer,
  "promise-batcher": async () => (await import("./promise-batcher.ts")).promiseBatcher,
  "cargo-queue": async () => (await import("./cargo-queue.ts")).cargoQueue,
  "batchwise-plain": async () => (await import("./batchwise.ts")).plain,
  "batchwise-turn": async () => (await import("./batchwise.ts")).turn,
  "batchwise-parallel": async () => (await import("./batchwise.ts")).parallel,
  "batchwise-many": async () => (await import("./batchwise.ts")).many,
  "batchwise-featured": async () => (await import("./batchwise.ts")).featured,
  "batchwise-deadlines": async () => (await import("./batchwise.ts")).deadlines,
  "batchwise-keys": async () => (await import("./batchwise.ts")).keys,
  "batchwise-fair": async () => (await import("./batchwise.ts")).fair,
  "batchwise-signal": async () => (await import("./batchwise.ts")).sharedSignal,
  "batchwise-one-priority": async () => (await import("./batchwise.ts")).onePriority,
  "batchwise-rising": async () => (await import("./batchwise.ts")).risingPriorities,
  "batchwise-falling": async () => (await import("./batchwise.ts")).fallingPriorities,
  "batchwise-mixed": async () => (await import("./batchwise.ts")).mixedPriorities,
};

function contenderNames(): readonly string[] {
  return Object.keys(contenders);
}

/** `name`, or `name@5` for the same contender with a window of 5 ms instead of the load's. */
export async function findContender(text: string): Promise<LoaderFactory> {
  const [name = "", window] = text.split("@");
  const find = contenders[name];
  if (find === undefined) {
    throw new RangeError(`Expected a contender, one of ${contenderNames().join(", ")}, got \`${name}\``);
  }
  const make = await find();
  if (window === undefined) return make;
  return (handler, shape) => make(handler, { ...shape, windowMs: Number(window) });
}
