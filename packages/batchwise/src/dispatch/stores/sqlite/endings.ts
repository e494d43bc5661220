// Writes outcomes. Updates counters and cursor once per transaction.

import type { OutcomeStatus } from "../../contract/types.ts";
import type { Ending } from "../sql/dialect.ts";
import { count, get, run, type Steps } from "../sql/steps.ts";

/** The attempts, from an index: the request's own row is usually no longer in memory. */
const OUTCOME = `
  INSERT INTO batchwise_outcome (cursor, seq, status, attempts, recorded_at, payload, batch, job, code)
  VALUES (?, ?, ?, ? + coalesce((
    SELECT attempts FROM batchwise_request INDEXED BY batchwise_request_tried WHERE seq = ? AND attempts > 0
  ), 0), ?, ?, ?, ?, ?)`;

export function* record(
  endings: readonly Ending[],
  batch: number | null,
  sinks: readonly string[],
  now: number,
): Steps<void> {
  const last = yield* get<{ value: number }>("SELECT value FROM batchwise_counter WHERE name = 'cursor'");
  const ended: Record<OutcomeStatus, number> = { succeeded: 0, failed: 0, cancelled: 0, expired: 0 };
  let cursor = last?.value ?? 0;
  for (const { seq, status, charged, payload, job, code } of endings) {
    cursor += 1;
    ended[status] += 1;
    const facts = [payload, batch, job === "" ? null : job, code];
    yield* run(OUTCOME, ...[cursor, seq, status, charged ? 1 : 0, seq, now, ...facts]);
    for (const sink of sinks) {
      yield* run(
        "INSERT INTO batchwise_delivery (cursor, sink, next_at, is_due) VALUES (?, ?, ?, 1)",
        cursor,
        sink,
        now,
      );
    }
  }
  yield* count("cursor", endings.length);
  yield* count("waiting", endings.length * sinks.length);
  for (const [status, more] of Object.entries(ended) as [OutcomeStatus, number][]) yield* count(status, more);
}
