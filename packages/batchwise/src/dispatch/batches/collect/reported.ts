// Emits how a read of results ended.

import type { Lease } from "../../runtime/lease/lease.ts";
import { failureOf } from "../../runtime/provider-calls.ts";
import type { Runtime } from "../../runtime/runtime.ts";

/** Reads, and emits `collect` with the number of lines read so far, also when the read rejects. */
export async function reported(
  { events, clock }: Runtime,
  { account, batch }: Lease,
  operation: "results" | "execute",
  lines: () => number,
  read: () => Promise<void>,
): Promise<void> {
  const begunAt = clock.monotonic();
  const emit = (code: string | null): void =>
    events.emit("collect", () => ({
      ...{ account: account.name, batch: batch.key, lines: lines(), code },
      durationMs: clock.monotonic() - begunAt,
    }));
  try {
    await read();
    emit(null);
  } catch (error) {
    emit(failureOf(account, error, operation).code);
    throw error;
  }
}
