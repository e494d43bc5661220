/** Every load by name, loaded on demand. A load measures one contender in the calling process. */

import type { LoaderFactory } from "../peers/contract.ts";
import { findContender } from "../peers/registry.ts";
import type { Measurement, Settings } from "./child.ts";

/** A load for the contenders of peers/registry.ts. */
export interface Workload<Config extends Settings = Settings> {
  readonly defaults: Config;
  measure(make: LoaderFactory, settings: Config): Promise<Measurement>;
}

/** A load that finds its own contender by name. */
export interface NamedWorkload<Config extends Settings = Settings> {
  readonly defaults: Config;
  measure(contender: string, settings: Config): Promise<Measurement>;
}

function named({ defaults, measure }: Workload): NamedWorkload {
  return { defaults, measure: async (contender, settings) => measure(await findContender(contender), settings) };
}

const workloads: Readonly<Record<string, () => Promise<NamedWorkload>>> = {
  w1: async () => named((await import("../micro/bursts.ts")).bursts),
  bytes: async () => named((await import("../micro/bursts.ts")).allocation),
  batches: async () => named((await import("../micro/one-batch.ts")).oneBatch),
  w2: async () => named((await import("../micro/closed-loop.ts")).closedLoop),
  w3: async () => named((await import("../micro/deep-queue.ts")).deepQueue),
  options: async () => named((await import("../micro/deep-queue.ts")).optionCost),
  lone: async () => named((await import("../micro/lone-item.ts")).loneItem),
  w6: async () => named((await import("../load/policy.ts")).policy),
  sleep: async () => named((await import("../load/sleeping-service.ts")).sleepingService),
  priorities: async () => named((await import("../micro/deep-queue.ts")).priorities),
  small: async () => (await import("../micro/small.ts")).small,
  gather: async () => (await import("../load/sqlite-http.ts")).sqliteHttp,
  pure: async () => (await import("../pure/pure-functions.ts")).pureFunctions,
  threads: async () => (await import("../load/blocking-threads.ts")).blockingThreads,
};

export async function findWorkload(name: string): Promise<NamedWorkload> {
  const find = workloads[name];
  if (find === undefined) {
    throw new RangeError(`Expected a load, one of ${Object.keys(workloads).join(", ")}, got \`${name}\``);
  }
  return find();
}
