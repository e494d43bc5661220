// Runs a virtual world in which official clients talk to the fake provider.

import type { FakeProvider } from "batchwise/dispatch/testing";
import type { VirtualClock } from "../../../src/testing/index.ts";

/** Between two timers the clients need many turns of the platform: time stands still until all is quiet. */
export async function drive(time: VirtualClock, fake: FakeProvider, isDone: () => Promise<boolean>): Promise<void> {
  for (let steps = 0; steps < 20_000; steps += 1) {
    for (let spins = 0; spins < 12 || (fake.open > 0 && spins < 60); spins += 1) await time.settle();
    if (await isDone()) return;
    await time.advance(Math.max(0, time.nextAt - time.now()));
  }
  throw new Error("It never came to rest.");
}
