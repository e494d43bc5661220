// Work that one process does for all. A process takes a duty for a fixed time and may extend it
// before that ends. Guarantees that no two processes with equal clocks hold the same duty at once.
// After a crash of the holder, another process can take the duty when the time has passed.

import type { Runtime } from "./runtime.ts";

const PREFIX = "duty ";

/** True when this process has the duty for the next `forMs` milliseconds. */
export async function takeDuty(runtime: Runtime, name: string, forMs: number): Promise<boolean> {
  const { clock, options } = runtime;
  const mark = PREFIX + name;
  const now = clock.now();
  const present = await runtime.readMark(mark);
  if (present !== null && !isFree(present, options.owner, now, forMs)) return false;
  const value = `${now + forMs} ${options.owner}`;
  return value === present || runtime.setMark(mark, present, value);
}

/** Another process, or this one, may take the duty again. */
export async function giveDutyBack(runtime: Runtime, name: string): Promise<void> {
  const present = await runtime.readMark(PREFIX + name);
  if (present?.endsWith(` ${runtime.options.owner}`)) await runtime.setMark(PREFIX + name, present, null);
}

/** True if the duty is its own, expired, or written by a clock that was far ahead. */
function isFree(value: string, owner: string, now: number, forMs: number): boolean {
  const until = Number.parseInt(value, 10);
  return value === `${until} ${owner}` || until <= now || until > now + 2 * forMs;
}
