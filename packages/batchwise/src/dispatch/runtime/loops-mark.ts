// Records in the store that some process runs its loops, so that a process without loops can warn a
// caller who waits for an outcome. One write in 20 s for all processes.

import { valueOfMark } from "../accounts/pauses.ts";
import type { MarkRow } from "../contract/store/ledger-rows.ts";

const MARK = "loops ran at";
const WRITTEN_EVERY_MS = 20_000;

/** When the loops of some process last ran, within about 20 s; null if they never did. */
export function loopsRanAt(marks: readonly MarkRow[]): number | null {
  const value = valueOfMark(marks, MARK);
  return value === null ? null : Number(value);
}

/** The part of the runtime that is used here. */
interface Marks {
  /** From the last read of the marks. */
  readonly loopsRanAt: number | null;
  setMark(name: string, expected: string | null, value: string): Promise<boolean>;
}

/** Called by running loops with the marks just read. */
export async function noteLoops(runtime: Marks, now: number): Promise<void> {
  const before = runtime.loopsRanAt;
  if (before !== null && Math.abs(now - before) < WRITTEN_EVERY_MS) return;
  await markLoops(runtime, now);
}

/** One write, which changes nothing if another process was first. */
export async function markLoops(runtime: Marks, now: number): Promise<void> {
  const before = runtime.loopsRanAt;
  await runtime.setMark(MARK, before === null ? null : String(before), String(now));
}
