// Starts and stops the loops of one runtime.

import type { Sealer } from "../../batches/seal/sealer.ts";
import { sweeper } from "../../batches/sweep/sweep.ts";
import type { Workers } from "../../batches/workers.ts";
import { callbackDeliverer, type Deliverer, webhookDeliverer } from "../../requests/outcomes/deliverer.ts";
import { retention } from "../../requests/prune.ts";
import type { Loop, Turn } from "../../runtime/loop.ts";
import type { Runtime } from "../../runtime/runtime.ts";

/** The parts that run in the loops. */
export interface LoopParts {
  readonly runtime: Runtime;
  readonly workers: Workers;
  readonly sealer: Sealer;
}

export class Loops {
  readonly #parts: LoopParts;
  readonly #deliverers: readonly (readonly [Loop, Deliverer])[];

  constructor(parts: LoopParts) {
    const { runtime } = parts;
    const { onOutcome, webhook } = runtime.options;
    this.#parts = parts;
    this.#deliverers = [
      ...(onOutcome === null ? [] : [[runtime.calling, callbackDeliverer(runtime)] as const]),
      ...(webhook === null ? [] : [[runtime.posting, webhookDeliverer(runtime, webhook)] as const]),
    ];
  }

  /** True while nothing runs and nothing is due. */
  get isResting(): boolean {
    return this.#parts.workers.isIdle && this.#all.every((loop) => loop.isResting);
  }

  start(sweep: Turn = sweeper(this.#parts.runtime)): void {
    const { runtime, workers, sealer } = this.#parts;
    const { working, sealing, sweeping, pruning, options } = runtime;
    working.start(workers.turn);
    sealing.start(sealer.turn);
    sweeping.start(sweep);
    if (Math.min(options.retentionMs, options.tombstoneRetentionMs) < Infinity) pruning.start(retention(runtime));
    for (const [loop, deliverer] of this.#deliverers) loop.start(deliverer.turn);
  }

  /** Resolves when no turn runs; operations may still run. */
  async stop(): Promise<void> {
    await Promise.all(this.#all.map((loop) => loop.stop()));
  }

  /** Writes the last delivery reports after the loops have stopped. */
  async flush(): Promise<void> {
    const { runtime } = this.#parts;
    for (const [, deliverer] of this.#deliverers) {
      // Deliveries without a report are made again: at least once, not exactly once.
      await deliverer.flush().catch((error: unknown) => runtime.report(error, { operation: "deliver" }));
    }
  }

  get #all(): readonly Loop[] {
    const { sealing, working, sweeping, pruning, calling, posting } = this.#parts.runtime;
    return [sealing, working, sweeping, pruning, calling, posting];
  }
}
