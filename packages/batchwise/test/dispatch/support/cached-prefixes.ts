// Requests that share cached prefixes, and an account that names the prefix of each.

import { cacheLaneName } from "../../../src/dispatch/batches/seal/cache-lanes.ts";
import type { Account } from "../../../src/dispatch/contract/account.ts";
import type { Store } from "../../../src/dispatch/contract/store/store.ts";
import type { DispatchRequest } from "../../../src/dispatch/contract/types.ts";
import { createDispatcher } from "../../../src/dispatch/dispatcher.ts";
import { laneName } from "../../../src/dispatch/format/encode.ts";
import { sealInput } from "../stores/sqlite/folder.ts";
import { SimProvider } from "./simulation/sim-provider.ts";
import { ask, START } from "./world.ts";

const HOUR = 3_600_000;

/** The prefix is what stands before the first hyphen of the content. */
export const caching: Partial<Account> = {
  cachedPrefix: (_endpoint, { messages }) => {
    const [{ content = "" } = {}] = messages as readonly { readonly content?: string }[];
    const [digest = "", ...rest] = content.split("-");
    return rest.length === 0 ? null : { digest, lastsMs: HOUR };
  },
};

export function asking(prefix: string, from: number, to: number, more: object = {}): DispatchRequest[] {
  return Array.from({ length: to - from }, (_, n) => ask(`${prefix}-${from + n}`, more));
}

const base = laneName({
  ...{ endpoint: "/v1/chat/completions", group: "", model: "m", inputs: 1, shared: "" },
  ...{ urgent: false, checked: "", payers: [], cached: "" },
});

/**
 * Enqueues this many requests of each prefix and seals them as the sealer does: the first ones,
 * then the rest. `cost` counts what a call costs the store. Returns the sizes of the batches and
 * the costs of a probe and of each seal.
 */
export async function sealedWithin(store: Store, prefixes: number, each: number, cost: () => number) {
  const time = { now: () => START, setTimeout: () => 0 };
  const account = new SimProvider({ time }).account({}, caching);
  const { enqueueMany, stop } = createDispatcher({ store, accounts: [account] });
  for (let from = 0; from < prefixes; from += 100) {
    const names = Array.from({ length: Math.min(100, prefixes - from) }, (_, n) => `p${from + n}`);
    await enqueueMany(names.flatMap((name) => asking(name, 0, each)));
  }
  const costs: number[] = [];
  const counted = async <Result>(call: () => Promise<Result>): Promise<Result> => {
    const before = cost();
    const result = await call();
    costs.push(cost() - before);
    return result;
  };
  const now = Date.now() + HOUR;
  const { lanes } = await counted(() => store.probe(50_000, now));
  const sizes: number[] = [];
  for (const role of ["first", "next", "rest"] as const) {
    const lane = cacheLaneName({ base, slot: "a", role });
    const result = await counted(() => store.seal({ ...sealInput(role), lane, now, leaseUntil: now + HOUR }));
    sizes.push(result.ok ? result.batch.requests : 0);
  }
  await stop();
  return { lanes: lanes.length, sizes, costs };
}
