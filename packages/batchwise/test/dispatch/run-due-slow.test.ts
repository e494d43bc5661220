// Runs of `runDue` where something is slow: a list, a store, a database that wakes up.

import { describe, expect, test } from "vitest";
import { expectEachOnce, finish, MINUTE, names, place, SECOND } from "./support/due-place.ts";

describe("a list that", () => {
  test.each([
    ["hangs", 60 * MINUTE, 1_000],
    ["takes 3 s a page", 3 * SECOND, 1],
  ])("%s leaves time to ask by id", async (_how, listMs, pageSize) => {
    const here = place({
      thresholds: { maxAgeMs: 0, maxRequests: 5 },
      sim: { plan: () => ({ validateMs: 0, runMs: MINUTE }) },
      account: (provider, sleep) => {
        const plain = provider.account();
        return {
          ...plain,
          capabilities: { ...plain.capabilities, list: { ...plain.capabilities.list, pageSize } },
          list: async (...given) => {
            await sleep(listMs);
            return plain.list(...given);
          },
        };
      },
    });
    const { dispatcher } = here.process();
    await dispatcher.enqueueMany(names(20));
    const { runs } = await finish(here, dispatcher, 10 * SECOND);
    expectEachOnce(here, 20);
    expect(runs).toBeLessThan(10);
    expect(here.errors.map(String).join()).not.toContain("The run is over");
  });
});
