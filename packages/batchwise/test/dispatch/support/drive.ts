// Runs virtual time for dispatchers over real clients: a call needs many turns of the platform, so
// time stands still until all is quiet. Most timers lead to no call.

import type { VirtualClock } from "../../../src/testing/index.ts";
import { callsOf } from "./world.ts";

/** Turns of the platform that a call's answer may take, and that a call may take to be answered. */
const TURNS = { afterCall: 12, whileOpen: 60 } as const;

/** `open`: how many calls have no answer yet. */
interface Fake {
  readonly open: number;
}

/**
 * Returns a function that gives calls the turns they need, and others one: call it after each step
 * of time.
 */
export function settler(time: VirtualClock, fake: Fake): () => Promise<void> {
  let begunBefore = -1;
  const turns = (): number => {
    if (fake.open > 0) return TURNS.whileOpen;
    const { begun, open } = callsOf(time);
    return open > 0 || begun !== begunBefore ? TURNS.afterCall : 1;
  };
  return async () => {
    for (let turn = 0; turn < turns(); turn += 1) await time.settle();
    begunBefore = callsOf(time).begun;
  };
}

export async function drive(time: VirtualClock, fake: Fake, isDone: () => Promise<boolean>): Promise<void> {
  const settle = settler(time, fake);
  for (let steps = 0; steps < 20_000; steps += 1) {
    await settle();
    if (await isDone()) return;
    await time.advance(Math.max(0, time.nextAt - time.now()));
  }
  throw new Error("It never came to rest.");
}
