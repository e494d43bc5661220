// What a store has of jobs and tenants with a limit of price. Reads only. Stores know them by a
// digest of the name, so the caller names them.

import { aString, check } from "../../core/contract/validate.ts";
import type { PriceFigures } from "../contract/errors.ts";
import type { Store } from "../contract/store/store.ts";
import { payerName } from "../format/encode.ts";
import { checkNames, listOf } from "../options/call-options.ts";
import { figuresOf } from "./amounts.ts";

const NAMES_A_READ = 1_000;

/** A job or tenant with a `maxPrice`. */
export interface PriceLimit extends PriceFigures {
  readonly kind: "job" | "tenant";
  /** Name of the job or tenant. */
  readonly name: string;
}

/** Whose limits to read. */
export interface PriceLimitsQuery {
  /** Names of jobs. Default none. */
  readonly jobs?: readonly string[];
  /** Names of tenants. Default none. */
  readonly tenants?: readonly string[];
}

/**
 * Reads `limit`, `spent` and `reserved` of these jobs and tenants, in US dollars, in the order
 * given, jobs first. Leaves out names that never had a `maxPrice`. A lifted limit is Infinity.
 *
 * @throws TypeError if `jobs` or `tenants` is not an array of strings. DispatchError if the store
 * fails.
 *
 * @example
 * ```ts
 * import { memoryStore, readPriceLimits } from "batchwise/dispatch";
 * const [night] = await readPriceLimits(memoryStore(), { jobs: ["night"] });
 * console.log(night?.spent ?? "no limit");
 * ```
 */
export async function readPriceLimits(store: Pick<Store, "payers">, query: PriceLimitsQuery): Promise<PriceLimit[]> {
  checkNames(query, ["jobs", "tenants"]);
  const { jobs = [], tenants = [] } = query;
  const wanted = [...named("job", "jobs", jobs), ...named("tenant", "tenants", tenants)];
  const limits: PriceLimit[] = [];
  for (let from = 0; from < wanted.length; from += NAMES_A_READ) {
    const part = wanted.slice(from, from + NAMES_A_READ);
    const rows = await store.payers(
      [],
      part.map(({ payer }) => payer),
    );
    const known = new Map(rows.map((row) => [row.name, row]));
    for (const { kind, name, payer } of part) {
      const row = known.get(payer);
      if (row === undefined) continue;
      limits.push({ kind, name, ...figuresOf(row) });
    }
  }
  return limits;
}

type Named = Pick<PriceLimit, "kind" | "name"> & { readonly payer: string };

/** Each name once. */
function named(kind: Named["kind"], place: string, names: readonly string[]): Named[] {
  for (const name of listOf(place, names)) check(`${place}[]`, aString, name);
  return [...new Set(names)].map((name) => ({ kind, name, payer: payerName(kind, name) }));
}
