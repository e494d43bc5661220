// New bodies of retried requests. Their endings stay as history, so the batches in which they ended
// stay.

import { withDigest } from "../../contract/store/digests.ts";
import type { Correction } from "../../contract/store/rows.ts";
import type { OutcomeStatus } from "../../contract/types.ts";
import type { Dialect } from "./dialect.ts";
import { all, run, type Steps } from "./steps.ts";

/** An outcome that a retry has withdrawn. */
export interface Removed {
  readonly seq: number;
  readonly cursor: number;
  readonly batch: number | null;
  readonly status: OutcomeStatus;
  readonly code: string | null;
  readonly recorded_at: number;
}

/** `seqs`: the requests of the corrections. If one repeats, its first correction counts. */
export function* correct(
  dialect: Dialect,
  seqs: readonly (number | undefined)[],
  corrections: readonly Correction[],
  removed: readonly Removed[],
): Steps<void> {
  const bySeq = new Map<number | undefined, Correction>();
  for (const [index, seq] of seqs.entries()) {
    if (!bySeq.has(seq)) bySeq.set(seq, corrections[index] as Correction);
  }
  const before = yield* all<{ seq: number; digest: string }>(
    `SELECT seq, digest FROM batchwise_body WHERE ${dialect.among("seq", "bigint")}`,
    removed.map(({ seq }) => seq),
  );
  const known = new Map(before.map(({ seq, digest }) => [seq, digest]));
  for (const { seq, cursor, batch, status, code, recorded_at } of removed) {
    const { digest, body, bytes, tokens, price = 0 } = bySeq.get(seq) as Correction;
    const digests = withDigest(known.get(seq) ?? digest, digest);
    yield* run("UPDATE batchwise_body SET digest = ?, body = ?, turns = NULL WHERE seq = ?", ...[digests, body, seq]);
    const sizes = "UPDATE batchwise_request SET bytes = ?, tokens = ?, price = ? WHERE seq = ?";
    yield* run(sizes, ...[bytes, tokens, price, seq]);
    const history = "INSERT INTO batchwise_history (seq, batch, code, at) VALUES (?, ?, ?, ?)";
    // No batch has a negative number, and no other outcome has this cursor.
    yield* run(history, ...[seq, batch ?? -cursor, code ?? status, recorded_at]);
  }
}
