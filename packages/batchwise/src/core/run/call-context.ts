// The handler's view of one call: facts of its batch, a signal, and one request per item. Signal
// and requests are created when first read, because most handlers never read them.

import type { RunningBatch } from "../contract/events.ts";
import type { BatchReason } from "../contract/outcome.ts";
import type { BatchContext, BatchRequest } from "../contract/types.ts";
import type { Entry } from "../queue/entry.ts";

/** The batch that a call belongs to, for its handler. */
export type ShownBatch = Pick<RunningBatch, "id" | "key" | "reason" | "startedAt">;

/** The engine's functions are static, because the handler gets the object itself. */
export class CallContext implements BatchContext {
  readonly cost: number;
  readonly #batch: ShownBatch;
  readonly #entries: readonly Entry[];
  #requests: readonly BatchRequest[] | null = null;
  #controller: AbortController | null = null;
  #isAborted = false;
  #abortReason: unknown;

  constructor(batch: ShownBatch, entries: readonly Entry[], cost: number) {
    this.#batch = batch;
    this.#entries = entries;
    this.cost = cost;
  }

  get id(): string {
    return this.#batch.id;
  }

  get key(): string | undefined {
    return this.#batch.key;
  }

  get reason(): BatchReason {
    return this.#batch.reason;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#isAborted) this.#controller.abort(this.#abortReason);
    return this.#controller.signal;
  }

  get requests(): readonly BatchRequest[] {
    const { startedAt } = this.#batch;
    this.#requests ??= this.#entries.map(({ facts, priority, moment }) => ({
      context: facts.context,
      priority,
      waitedMs: startedAt - moment.at,
    }));
    return this.#requests;
  }

  /** Creates the requests now, because their entries may be forgotten from now on. */
  static keepRequests(context: CallContext): void {
    void context.requests;
  }

  static isAborted(context: CallContext): boolean {
    return context.#isAborted;
  }

  /** Keeps the first reason. */
  static abort(context: CallContext, reason: unknown): void {
    if (context.#isAborted) return;
    context.#isAborted = true;
    context.#abortReason = reason;
    context.#controller?.abort(reason);
  }
}
