/** The cost per call of one pure function in this process, measured by mitata. */
import { do_not_optimize, measure } from "mitata";
import type { Measurement } from "../harness/child.ts";
import type { NamedWorkload } from "../harness/workloads.ts";
import { decisions } from "./decisions.ts";
import { lines } from "./lines.ts";

/** By name: prepares a function's arguments, and returns the call to measure. */
export type PureFunctions = Readonly<Record<string, () => () => unknown>>;

const all: PureFunctions = { ...decisions, ...lines };

export const pureFunctionNames: readonly string[] = Object.keys(all);

/** `ms`: the time for which calls are measured, after a warm-up. */
type Config = { ms: number };

async function measureOne(name: string, { ms }: Config): Promise<Measurement> {
  const make = all[name];
  if (make === undefined) {
    throw new RangeError(`Expected a function, one of ${pureFunctionNames.join(", ")}, got \`${name}\``);
  }
  const call = make();
  const timed = call() instanceof Promise ? async () => do_not_optimize(await call()) : () => do_not_optimize(call());
  const { p50 } = await measure(timed, { min_cpu_time: ms * 1e6 });
  return { ns: p50 };
}

export const pureFunctions: NamedWorkload<Config> = { defaults: { ms: 600 }, measure: measureOne };
