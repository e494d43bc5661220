// Takes a packed batch out of the queue and makes a batch of it, with an id and all that its start
// is counted as.

import type { ResolvedOptions } from "../contract/options.ts";
import type { BatchReason } from "../contract/outcome.ts";
import type { PreparedOptions } from "../contract/resolve-options.ts";
import { ignoreIfPromise } from "../contract/thenable.ts";
import { measureBatch } from "../policy/batch-cost.ts";
import type { PackedBatch } from "../policy/caps.ts";
import { isPacked } from "../policy/packer.ts";
import type { Lane } from "../queue/lane.ts";
import type { Queue } from "../queue/queue.ts";
import { Batch } from "../run/batch.ts";
import type { BatchFacts, BatchSurroundings } from "../run/surroundings.ts";
import { warnOfDefaultSize } from "./warnings.ts";

export class BatchStarter {
  readonly #queue: Queue;
  readonly #around: BatchSurroundings<Batch>;
  readonly #prepared: PreparedOptions;
  readonly #random: number;
  /** Keeps the ids of batches apart from those of other batchers. */
  #idPrefix = "";
  #sequence = 0;
  #hasWarned = false;

  constructor(queue: Queue, around: BatchSurroundings<Batch>, prepared: PreparedOptions) {
    this.#queue = queue;
    this.#around = around;
    this.#prepared = prepared;
    const random: unknown = prepared.options.random();
    ignoreIfPromise(random);
    this.#random = typeof random === "number" ? random : Number.NaN;
  }

  /** Makes a batch that has not begun. `options`: those in force. */
  start(packed: PackedBatch, reason: BatchReason, lane: Lane, now: number, options: ResolvedOptions): Batch {
    const { entries, cost } = packed;
    const { recorder } = this.#around.services;
    const size = entries.length;
    const flushes = this.#queue.flushes.batchStarted(lane.key, entries);
    if (this.#sequence === 0) {
      this.#idPrefix = `${options.name}-${Math.floor(this.#random * 2 ** 32).toString(36)}-`;
    }
    this.#sequence += 1;
    const { key } = lane;
    const itemsCost = isPacked(options) ? measureBatch(entries, "sum") : 0;
    const [idPrefix, sequence] = [this.#idPrefix, this.#sequence];
    const waitMs = recorder.started(entries, now);
    const facts = { idPrefix, sequence, key, reason, size, cost, itemsCost, startedAt: now, waitMs };
    const batch = new Batch(entries, facts, flushes, this.#around);
    this.#queue.take(packed, batch);
    recorder.batchClosed(reason, size, cost);
    recorder.runs(size, now);
    return batch;
  }

  /**
   * Warns, once, where the default size has closed a batch that costs little. A listener may do
   * anything.
   */
  warnOfSize({ reason, cost }: BatchFacts, options: ResolvedOptions): void {
    if (this.#hasWarned || reason !== "size" || cost >= options.maxBatchCost / 2) return;
    this.#hasWarned = warnOfDefaultSize(this.#prepared, options, this.#around.services.events);
  }
}
