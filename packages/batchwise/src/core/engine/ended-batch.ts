// A batch that has ended, as its observer and the listeners of "batch" see it.

import type { BatchRun } from "../run/batch-run.ts";
import type { Services } from "../submit/services.ts";

/** Makes no event where nobody hears it. */
export function tellOfEnd({ id, watch, start, evidence }: BatchRun, runMs: number, { events, clock }: Services): void {
  if (watch === null && !events.hears("batch")) return;
  const { key, reason, size, cost, startedAt, waitMs } = start;
  const { error } = evidence;
  const event = { id, key, reason, size, cost, startedAt: clock.toUserTime(startedAt), runMs, waitMs, error };
  watch?.ended(event);
  events.emit("batch", event);
}
