// Prunes old requests and keeps their ids and digests. Guarantees that nothing is deleted for which
// a delivery waits, or that other rows still name.

import type { PruneInput, PruneStep } from "../../contract/store/pruning.ts";
import type { RequestRow } from "../../contract/store/rows.ts";
import { withTombstones } from "../../contract/store/tombstone.ts";
import type { Batches } from "./batches.ts";
import type { OutcomeLog } from "./outcome-log.ts";
import type { MemoryOutcome, MemoryRequest } from "./records.ts";

export class Pruning {
  readonly #requests: Map<string, MemoryRequest>;
  readonly #log: OutcomeLog;
  readonly #batches: Batches;
  /** By id, in order of pruning. */
  readonly #tombstones = new Map<string, { readonly digest: string; readonly prunedAt: number }>();

  constructor(requests: Map<string, MemoryRequest>, log: OutcomeLog, batches: Batches) {
    this.#requests = requests;
    this.#log = log;
    this.#batches = batches;
  }

  digestOf(id: string): string | undefined {
    return this.#tombstones.get(id)?.digest;
  }

  /** The rows of these ids in order: the given rows, and tombstones. */
  among(ids: readonly string[], rows: readonly RequestRow[]): RequestRow[] {
    return withTombstones(ids, rows, (id) => this.#tombstones.has(id));
  }

  step(input: PruneInput): PruneStep {
    const { before, statuses, after, limit } = input;
    const seen = this.#log.look(after, limit);
    const old = seen.filter(({ recordedAt }) => recordedAt <= before);
    const chosen = old.filter(({ status }) => statuses.includes(status));
    const free = chosen.filter(({ deliveries }) => deliveries.every(({ state }) => state !== "waiting"));
    for (const outcome of free) this.#remove(outcome, input.now);
    for (const job of new Set(free.map(({ job }) => job))) this.#log.trim(job);
    const batches = this.#batches.prune(input);
    const isEnd = seen.length < limit || old.length === 0;
    const next = isEnd && batches < limit && this.#forget(input) < limit ? null : (seen.at(-1)?.cursor ?? after);
    return { requests: free.length, batches, kept: chosen.length - free.length, next };
  }

  /** Returns the number of deleted tombstones. */
  #forget({ tombstonesBefore = Number.NEGATIVE_INFINITY, limit }: PruneInput): number {
    let forgotten = 0;
    for (const [id, { prunedAt }] of this.#tombstones) {
      if (prunedAt > tombstonesBefore || forgotten === limit) break;
      this.#tombstones.delete(id);
      forgotten += 1;
    }
    return forgotten;
  }

  #remove(outcome: MemoryOutcome, prunedAt: number): void {
    const request = this.#requests.get(outcome.id) as MemoryRequest;
    this.#log.takeBack(outcome);
    this.#requests.delete(request.id);
    this.#tombstones.set(request.id, { digest: request.digest, prunedAt });
    if (outcome.batchKey !== null) this.#batches.leave(outcome.batchKey);
    for (const { batchKey } of request.history) this.#batches.leave(batchKey ?? "");
  }
}
