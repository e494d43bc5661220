// Wall clocks that step by a day for some minutes.

import type { SimProcess } from "../world.ts";
import type { SimTime } from "./sim-provider.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** At most one clock step an hour: a process that sleeps through two cannot know of both. */
export function planSteps(
  time: SimTime,
  {
    forMs,
    random,
    anybody,
  }: {
    readonly forMs: number;
    readonly random: () => number;
    readonly anybody: () => { readonly process: SimProcess } | undefined;
  },
): void {
  const below = (most: number): number => Math.floor(random() * most);
  for (let hour = 0; hour * HOUR < forMs; hour += 1) {
    const ms = random() < 0.5 ? DAY : -DAY;
    const at = hour * HOUR + below(HOUR / 2);
    time.setTimeout(() => anybody()?.process.step(ms, below(9 * MINUTE)), at);
  }
}
