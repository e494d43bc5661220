// Runs virtual time for dispatchers over real clients: between two timers these need many turns of
// the platform, so time stands still until all is quiet.

import type { VirtualClock } from "../../../src/testing/index.ts";

/** `fake`: how many calls have no answer yet. */
export async function drive(
  time: VirtualClock,
  fake: { readonly open: number },
  isDone: () => Promise<boolean>,
): Promise<void> {
  for (let steps = 0; steps < 20_000; steps += 1) {
    for (let spins = 0; spins < 12 || (fake.open > 0 && spins < 60); spins += 1) await time.settle();
    if (await isDone()) return;
    await time.advance(Math.max(0, time.nextAt - time.now()));
  }
  throw new Error("It never came to rest.");
}
