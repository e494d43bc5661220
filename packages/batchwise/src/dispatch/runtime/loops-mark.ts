// Records in the store that some process runs its loops, so that a process without loops can warn a
// caller who waits for an outcome. One write in 20 s for all processes.

import type { MarkChange, MarkRow } from "../contract/store/ledger-rows.ts";

const MARK = "loops ran at";
const WRITTEN_EVERY_MS = 20_000;

/** When the loops of some process last ran, within about 20 s; null if they never did. */
export function loopsRanAt(marks: readonly MarkRow[]): number | null {
  const value = marks.find(({ name }) => name === MARK)?.value;
  return value === undefined ? null : Number(value);
}

/** The part of the runtime that is used here. */
interface Marks {
  /** From the last read of the marks. */
  readonly loopsRanAt: number | null;
  changeMarks(changes: readonly MarkChange[]): Promise<unknown>;
}

/** Called by running loops with the marks just read. */
export async function noteLoops(marks: Marks, now: number): Promise<void> {
  const before = marks.loopsRanAt;
  if (before !== null && Math.abs(now - before) < WRITTEN_EVERY_MS) return;
  await markLoops(marks, now);
}

/** One write, which changes nothing if another process was first. */
export async function markLoops(marks: Marks, now: number): Promise<void> {
  const before = marks.loopsRanAt;
  await marks.changeMarks([{ name: MARK, expected: before === null ? null : String(before), value: String(now) }]);
}
