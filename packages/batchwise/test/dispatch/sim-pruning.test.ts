// The simulation's checks detect a prune that counts wrongly or deletes too much.

import { expect, test } from "vitest";
import type { PruneInput, PruneStep } from "../../src/dispatch/contract/store/pruning.ts";
import type { Store } from "../../src/dispatch/contract/store/store.ts";
import { memoryStore } from "../../src/dispatch/stores/memory/memory-store.ts";
import { final, NOW, OK, request, sealed, settleInput } from "../../src/dispatch-testing/conformance/store/case.ts";
import { PruningBooks } from "./support/simulation/sim-pruning.ts";

const INPUT: PruneInput = {
  ...{ before: NOW, statuses: ["succeeded", "cancelled"], batchesBefore: NOW, after: 0, limit: 10, now: NOW },
};

type Prune = (store: Store, input: PruneInput) => Promise<PruneStep>;

/**
 * A store with a batch that is released in a second, and an outcome of which a delivery waits,
 * behind the books.
 */
async function faultsOf(prune: Prune): Promise<readonly string[]> {
  const store = memoryStore();
  const batch = await sealed(store, 1, 1);
  await store.settle(settleInput(batch, [final(0)]));
  await store.transition(batch.key, 1, { state: "done", releaseAt: NOW + 1_000, leaseUntil: 0 }, NOW);
  await store.enqueue([request("waits")], NOW);
  await store.amend({ kind: "cancel", ids: ["waits"], payload: OK, code: "c" }, ["hook"], NOW);
  const inner = store.prune.bind(store);
  store.prune = (input) => prune({ ...store, prune: inner }, input);
  const books = new PruningBooks(store);
  await books.prune(INPUT);
  return books.faults;
}

test.each<[string, Prune, readonly string[]]>([
  ["nothing against one that is right", (store, input) => store.prune(input), []],
  [
    "noticed one that does not count what it kept",
    async (store, input) => ({ ...(await store.prune(input)), kept: 0 }),
    ["kept 0 in place of 1"],
  ],
  [
    "noticed one that takes a batch away before it is released",
    (store, input) => store.prune({ ...input, now: input.now + 1_000 }),
    ["a batch that is not released"],
  ],
])("the books have %s", async (_what, prune, faults) => {
  expect(await faultsOf(prune)).toEqual(faults);
});
