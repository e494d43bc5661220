// A batch that has ended, as its observer and the listeners of "batch" see it.

import type { Batch } from "../run/batch.ts";
import type { Services } from "../submit/services.ts";

/** Makes no event where nobody hears it. */
export function tellOfEnd({ id, watch, facts, error }: Batch, runMs: number, { events, clock }: Services): void {
  if (watch === null && !events.hears("batch")) return;
  const { key, reason, size, cost, startedAt, waitMs } = facts;
  const event = { id, key, reason, size, cost, startedAt: clock.toUserTime(startedAt), runMs, waitMs, error };
  watch?.ended(event);
  events.emit("batch", event);
}
