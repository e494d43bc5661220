// Emits events about uploads and creates.

import type { Failure } from "../../contract/failures.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import type { Runtime } from "../../runtime/runtime.ts";

/** Called once the call has ended; null if the provider accepted it. */
export type TellSubmit = (failure: Failure | null) => void;

/** Starts the timer. Copies the batch now, because the answer changes it. */
export function submitTeller(runtime: Runtime, lease: Lease, operation: "upload" | "create"): TellSubmit {
  const { key: batch, account, requests, bytes, submitAttempt: attempt } = lease.batch;
  const begunAt = runtime.clock.monotonic();
  return (failure) =>
    runtime.events.emit(operation, () => ({
      ...{ account, batch, requests, bytes, attempt },
      result: failure === null ? "accepted" : failure.kind === "unknown" ? "unknown" : "refused",
      code: failure?.code ?? null,
      durationMs: runtime.clock.monotonic() - begunAt,
    }));
}
