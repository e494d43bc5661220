// Work that one process does for all: whoever takes a duty has it until its time is over, and may
// take it again before. Guarantees that no two processes with clocks that agree have the same duty
// at one time. A process that dies with a duty leaves it to the others when its time is over.

import type { MarkRow } from "../contract/rows.ts";
import type { Runtime } from "./runtime.ts";

const PREFIX = "duty ";

/** True when this process has the duty for the next `forMs` milliseconds. */
export async function takeDuty(runtime: Runtime, name: string, forMs: number): Promise<boolean> {
  const { store, clock, options } = runtime;
  const mark = PREFIX + name;
  const now = clock.now();
  const present = markOf(await store.marks([], now), mark);
  if (present !== null && !isFree(present, options.owner, now, forMs)) return false;
  const value = `${now + forMs} ${options.owner}`;
  if (value === present) return true;
  return markOf(await store.marks([{ name: mark, expected: present, value }], now), mark) === value;
}

function markOf(marks: readonly MarkRow[], name: string): string | null {
  return marks.find((mark) => mark.name === name)?.value ?? null;
}

/** Its own, over, or written by a clock that was far ahead. */
function isFree(value: string, owner: string, now: number, forMs: number): boolean {
  const until = Number.parseInt(value, 10);
  return value === `${until} ${owner}` || until <= now || until > now + 2 * forMs;
}
