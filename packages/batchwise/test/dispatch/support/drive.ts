// Runs virtual time for dispatchers over real clients: a call needs many turns of the platform, so
// time stands still until all is quiet. Most timers lead to no call.

import type { VirtualClock } from "../../../src/testing/index.ts";
import { callsOf } from "./world.ts";

/** `fake`: how many calls have no answer yet. */
export async function drive(
  time: VirtualClock,
  fake: { readonly open: number },
  isDone: () => Promise<boolean>,
): Promise<void> {
  let before = -1;
  const turns = (): number => {
    const { begun, open } = callsOf(time);
    if (fake.open > 0) return 60;
    return open > 0 || begun !== before ? 12 : 1;
  };
  for (let steps = 0; steps < 20_000; steps += 1) {
    for (let spins = 0; spins < turns(); spins += 1) await time.settle();
    before = callsOf(time).begun;
    if (await isDone()) return;
    await time.advance(Math.max(0, time.nextAt - time.now()));
  }
  throw new Error("It never came to rest.");
}
