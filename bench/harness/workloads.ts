/** Every load by name, loaded on demand. A load measures one contender in the process that calls it. */
import type { LoaderFactory } from "../peers/contract.ts";
import type { Measurement, Settings } from "./child.ts";

export interface Workload<Config extends Settings = Settings> {
  readonly defaults: Config;
  measure(make: LoaderFactory, settings: Config): Promise<Measurement>;
}

const workloads: Readonly<Record<string, () => Promise<Workload>>> = {
  w1: async () => (await import("../micro/bursts.ts")).bursts,
  bytes: async () => (await import("../micro/bursts.ts")).allocation,
  w2: async () => (await import("../micro/closed-loop.ts")).closedLoop,
  w3: async () => (await import("../micro/deep-queue.ts")).deepQueue,
  options: async () => (await import("../micro/deep-queue.ts")).optionCost,
  lone: async () => (await import("../micro/lone-item.ts")).loneItem,
  w6: async () => (await import("../load/policy.ts")).policy,
  sleep: async () => (await import("../load/sleeping-service.ts")).sleepingService,
};

export async function findWorkload(name: string): Promise<Workload> {
  const find = workloads[name];
  if (find === undefined) {
    throw new RangeError(`Expected a load, one of ${Object.keys(workloads).join(", ")}, got \`${name}\``);
  }
  return find();
}
