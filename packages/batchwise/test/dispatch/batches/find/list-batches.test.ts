// Lists of a provider that tell less than they should: what is not seen in them would be sent
// again.

import { expect, test } from "vitest";
import { findOrList } from "../../../../src/dispatch/batches/find/list-batches.ts";
import type { Account, ProviderBatch } from "../../../../src/dispatch/contract/account.ts";
import { resolveOptions } from "../../../../src/dispatch/options/resolve-options.ts";
import { Runtime } from "../../../../src/dispatch/runtime/runtime.ts";
import { memoryStore } from "../../../../src/dispatch/stores/memory/memory-store.ts";
import { providerBatch } from "../../support/rows.ts";
import { SimProvider } from "../../support/simulation/sim-provider.ts";
import { world } from "../../support/world.ts";

const SINCE = 1_000_000;
const NAME = { key: "k", attempt: 1, endpoint: "/v1/chat/completions", model: "m" } as const;

/** The ids that are listed back to `SINCE`, of these pages. */
async function listed(pages: readonly (readonly ProviderBatch[])[]): Promise<string[]> {
  const { time } = world();
  const account: Account = {
    ...new SimProvider({ time }).account(),
    list: async ({ cursor }) => {
      const page = Number(cursor ?? 0);
      return { batches: pages[page] ?? [], next: page + 1 < pages.length ? String(page + 1) : null };
    },
  };
  const runtime = new Runtime(resolveOptions({ store: memoryStore(), accounts: [account], onError: () => {} }));
  return (await findOrList(runtime, account, NAME, SINCE, [])).map(({ id }) => id);
}

test("a list is read to the first batch from before, and not beyond", async () => {
  const old = [providerBatch("b", { createdAt: SINCE - 1 })];
  expect(await listed([[providerBatch("a")], old, [providerBatch("c")]])).toEqual(["a", "b"]);
});

test("a batch that does not say when it was made does not end the list", async () => {
  expect(await listed([[providerBatch("a", { createdAt: 0 })], [providerBatch("b")]])).toEqual(["a", "b"]);
});
