// Runs the store suite under vitest: one test a case, each on data of its own.

import { afterEach, describe, test } from "vitest";
import type { Store } from "../../../src/dispatch/contract/store/store.ts";
import { storeConformance } from "../../../src/dispatch-testing/index.ts";

/**
 * Data of one case. `open` may be called more than once; every store it gave out is closed before
 * `remove`.
 */
export interface StoreData {
  open(): Promise<Store>;
  remove(): Promise<void>;
}

/** `prepare` makes empty data. `durable`: also run the durable cases. */
export function describeStore(name: string, durable: boolean, prepare: () => Promise<StoreData>): void {
  describe(name, () => {
    const ends: (() => Promise<void>)[] = [];
    afterEach(async () => {
      for (const end of ends.splice(0).reverse()) await end();
    });
    const cases = storeConformance.filter((one) => durable || !one.durable);
    test.each(cases)("$name", async ({ run }) => {
      const data = await prepare();
      ends.push(() => data.remove());
      await run(async () => {
        const store = await data.open();
        ends.push(() => store.close());
        return store;
      });
    });
  });
}
