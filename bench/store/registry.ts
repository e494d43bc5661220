/** Finds a measure by store and name, and runs it once in this process. */
import type { Measurement } from "../harness/child.ts";
import type { Measures } from "./measures.ts";

/** Each loads only its store's drivers, because the memory of a process is measured, too. */
const stores: Readonly<Record<string, () => Promise<{ readonly measures: Measures }>>> = {
  sqlite: () => import("./sqlite.ts"),
  postgres: () => import("./postgres.ts"),
  redis: () => import("./redis.ts"),
};

export async function measure(store: string, name: string, count: number | undefined): Promise<Measurement> {
  const { measures } = await found(stores, store)();
  const { run, count: usual } = found(measures, name);
  return run(count ?? usual);
}

/** The value of that name. Throws a RangeError with all names if there is none. */
export function found<Value>(all: Readonly<Record<string, Value>>, name: string): Value {
  const value = all[name];
  if (value === undefined) throw new RangeError(`Expected one of ${Object.keys(all).join(", ")}, got \`${name}\``);
  return value;
}
