// Only one of several processes sweeps an account, even if they try in the same millisecond.

import { expect, test } from "vitest";
import { inTurn } from "../../../../src/dispatch/batches/sweep/sweep-turns.ts";
import { resolveOptions } from "../../../../src/dispatch/options/resolve-options.ts";
import { Runtime } from "../../../../src/dispatch/runtime/runtime.ts";
import { memoryStore } from "../../../../src/dispatch/stores/memory/memory-store.ts";
import { SimProvider } from "../../support/simulation/sim-provider.ts";
import { SimProcess, world } from "../../support/world.ts";

test("of several processes that call at one time one sweeps", async () => {
  const { time } = world();
  const store = memoryStore();
  const account = new SimProvider({ time }).account();
  const processes = ["a", "b", "c"].map((owner) => {
    const { clock } = new SimProcess(time);
    return { owner, runtime: new Runtime(resolveOptions({ store, accounts: [account], owner, clock })) };
  });
  const swept: string[] = [];
  const sweepAll = (): Promise<unknown> =>
    Promise.all(processes.map(({ owner, runtime }) => inTurn(runtime, account, async () => void swept.push(owner))));
  await sweepAll();
  expect(swept).toHaveLength(1);
  await sweepAll();
  expect(swept).toHaveLength(1);
  await time.advance(24 * 3_600_000);
  await sweepAll();
  expect(swept).toHaveLength(2);
});
