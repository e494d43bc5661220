// Lists outcomes that were not delivered after all tries, and schedules them again. Everything is
// read from the store, so any process can call this, started or not.

import type { OutcomeRow } from "../../contract/store/outcome-rows.ts";
import type { DeadLetter, DeadLettersOptions, RedeliverOptions } from "../../contract/types.ts";
import { loggedOutcome } from "../../format/payload.ts";
import type { Runtime } from "../../runtime/runtime.ts";

const AT_ONCE = 1_000;

/** Abandoned deliveries, lowest cursor first. */
export async function readDeadLetters(
  runtime: Runtime,
  { sink, after, limit }: Required<DeadLettersOptions>,
): Promise<DeadLetter[]> {
  const rows = await runtime.store.outcomes({ after, limit, dead: sink, deliveries: true });
  return rows.map((row) => deadLetter(row, sink));
}

/** Makes abandoned deliveries due now. Returns their number. */
export async function redeliver(runtime: Runtime, { sink, after }: Required<RedeliverOptions>): Promise<number> {
  const { store, clock, calling, posting } = runtime;
  const change = { kind: "redeliver", sink, after, limit: AT_ONCE } as const;
  let count = 0;
  for (;;) {
    const changed = await store.amend(change, [], clock.now());
    count += changed.length;
    calling.wake();
    posting.wake();
    if (changed.length < AT_ONCE) return count;
  }
}

function deadLetter(row: OutcomeRow, sink: DeadLetter["sink"]): DeadLetter {
  const delivery = row.deliveries?.find((one) => one.sink === sink);
  const last = delivery?.log.at(-1);
  return {
    sink,
    outcome: loggedOutcome(row),
    tries: delivery?.attempt ?? 0,
    lastTryAt: last?.at ?? null,
    statusCode: last?.statusCode ?? null,
    error: last?.error ?? null,
  };
}
