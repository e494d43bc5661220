// The option `maxPrice`: checks it, and says who pays for a request. Pure.

import { check, objectWith, type Rule, refuseUnknown } from "../../core/contract/validate.ts";
import type { MaxPrice } from "../contract/dispatcher-options.ts";
import { payerName } from "../format/encode.ts";
import { limitOf } from "./amounts.ts";

/** A job or tenant with a limit, under its name in stores. */
export interface Payer {
  readonly name: string;
  readonly kind: "job" | "tenant";
  /** The job's or the tenant's own name. */
  readonly of: string;
  /** As stores keep it. */
  readonly limit: number;
}

/** Job and tenants, each by its own name. */
export interface ResolvedMaxPrice {
  readonly job: Payer | null;
  readonly tenants: ReadonlyMap<string, Payer>;
}

const aPrice: Rule = {
  expected: "a number of US dollars of at least 0",
  type: "number",
  test: (value: number) => value >= 0,
};

export function resolveMaxPrice(given: MaxPrice | undefined): ResolvedMaxPrice | null {
  if (given === undefined) return null;
  check("maxPrice", objectWith(), given);
  refuseUnknown(given, ["tenants"], "maxPrice.");
  const { tenants = {} } = given;
  check("maxPrice.tenants", objectWith(), tenants);
  const all = Object.entries(tenants).map(([of, dollars]) =>
    payerOf("tenant", of, `maxPrice.tenants["${of}"]`, dollars),
  );
  return { job: null, tenants: new Map(all.map((payer) => [payer.of, payer])) };
}

/** Of `runBatch`: a number is the job's. */
export function resolveJobPrice(
  job: string,
  given: number | (MaxPrice & { readonly job?: number }) | undefined,
): ResolvedMaxPrice | null {
  if (given === undefined) return null;
  if (typeof given !== "object") return { job: payerOf("job", job, "maxPrice", given), tenants: new Map() };
  check("maxPrice", objectWith(), given);
  const { job: own, ...others } = given;
  const resolved = resolveMaxPrice(others) as ResolvedMaxPrice;
  return own === undefined ? resolved : { ...resolved, job: payerOf("job", job, "maxPrice.job", own) };
}

/** The payers of a request; empty for none. */
export function payersOf(maxPrice: ResolvedMaxPrice | null, tenant: string, job: string): readonly Payer[] {
  if (maxPrice === null) return [];
  const ofJob = maxPrice.job?.of === job ? [maxPrice.job] : [];
  const ofTenant = maxPrice.tenants.get(tenant);
  return ofTenant === undefined ? ofJob : [...ofJob, ofTenant];
}

function payerOf(kind: Payer["kind"], of: string, place: string, dollars: number): Payer {
  check(place, aPrice, dollars);
  return { name: payerName(kind, of), kind, of, limit: limitOf(dollars) };
}
