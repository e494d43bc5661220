// Says in the store that some process runs its loops, so that a process that waits for an outcome and runs none can tell
// whether another one does. One write in 20 s, however many processes there are.

import type { MarkRow } from "../contract/rows.ts";
import type { Runtime } from "./runtime.ts";

const MARK = "loops ran at";
const WRITTEN_EVERY_MS = 20_000;

/** When the loops of some process ran, to some 20 s; null where they never did. */
export function loopsRanAt(marks: readonly MarkRow[]): number | null {
  const value = marks.find(({ name }) => name === MARK)?.value;
  return value === undefined ? null : Number(value);
}

/** Called by loops that run, with the marks as they were just read. */
export async function noteLoops(runtime: Runtime): Promise<void> {
  const now = runtime.clock.now();
  const before = runtime.loopsRanAt;
  if (before !== null && Math.abs(now - before) < WRITTEN_EVERY_MS) return;
  await runtime.changeMarks([{ name: MARK, expected: before === null ? null : String(before), value: String(now) }]);
}
