// Notices a handler that submits to its own batcher. Where it awaits that and all slots are taken by such batches, none of
// them ever ends: after 1 s a warning says so, once.
//
// A submit is known to be the handler's while the handler runs synchronously, and after an `await` by its async context,
// where the runtime has one that costs nothing (Node.js 24). Nothing is guessed: however slow a handler is, a batch whose
// handler has not submitted never counts. Whether the handler awaits what it submitted cannot be known.

import type { ResolvedOptions } from "../contract/options.ts";
import type { Entry } from "../queue/entry.ts";
import { cheapStorage } from "../time/async-context.ts";
import { Timeout } from "../time/deadlines.ts";
import type { Services } from "./services.ts";

/** How long all slots have to be taken by batches that wait for their own batcher. */
const STUCK_MS = 1000;

/** An async context costs about half a microsecond a batch: nothing to a batch that runs this long. */
const LONG_RUN_MS = 1;

/** A batch whose handler runs. */
export interface CallingBatch {
  readonly selfCalls: SelfCalls;
  readonly isOver: boolean;
  readonly holdsSlot: boolean;
}

interface OwnSubmit {
  /** The last one that the handler submitted. */
  entry: Entry;
  readonly timeout: Timeout;
}

let storage: ReturnType<typeof cheapStorage> | undefined;

export class SelfCalls {
  /** The batch whose handler runs synchronously now. */
  calling: CallingBatch | null = null;
  readonly #services: Services;
  #concurrency: number;
  #isLong = true;
  #hasWarned = false;
  readonly #submits: Map<CallingBatch, OwnSubmit> = new Map();

  constructor(services: Services, options: ResolvedOptions) {
    this.#services = services;
    this.#concurrency = options.concurrency;
  }

  configure({ concurrency }: ResolvedOptions): void {
    this.#concurrency = concurrency;
  }

  /** Calls the handler for a batch. */
  call<Answer>(batch: CallingBatch, handler: () => Answer): Answer {
    const before = this.calling;
    this.calling = batch;
    try {
      if (!this.#isLong || this.#hasWarned) return handler();
      if (storage === undefined) storage = cheapStorage();
      return storage === null ? handler() : storage.run(batch, handler);
    } finally {
      this.calling = before;
    }
  }

  /** To be called for an item that was submitted while `calling` is set, or that is the first of its turn. */
  note(entry: Entry): void {
    const batch = this.calling ?? (storage?.getStore() as CallingBatch | undefined);
    if (batch === undefined || batch.selfCalls !== this || batch.isOver || this.#hasWarned) return;
    const own = this.#submits.get(batch);
    if (own !== undefined) {
      own.entry = entry;
      return;
    }
    const timeout = new Timeout(this.#services.deadlines);
    this.#submits.set(batch, { entry, timeout });
    timeout.start(STUCK_MS, () => this.#look(batch));
  }

  /** A batch has ended that ran so long. */
  ended(batch: CallingBatch, runMs: number): void {
    this.#isLong = runMs >= LONG_RUN_MS;
    if (this.#submits.size === 0) return;
    this.#submits.get(batch)?.timeout.clear();
    this.#submits.delete(batch);
  }

  /** Warns where every slot is taken by a batch whose handler has submitted what is not answered. */
  #look(looking: CallingBatch): void {
    if (this.#hasWarned || this.#submits.get(looking)?.entry.isWaiting !== true) return;
    let stuck = 0;
    for (const [batch, { entry }] of this.#submits) {
      if (batch.holdsSlot && entry.recipient !== null && entry.holder !== null) stuck += 1;
    }
    if (stuck < this.#concurrency) return;
    this.#hasWarned = true;
    const slots = this.#concurrency === 1 ? "The one slot is" : `All ${stuck} slots are`;
    this.#services.events.warn(
      "SELF_CALL",
      `${slots} taken by a handler that submitted to its own batcher, for ${STUCK_MS} ms: if it awaits that, neither ends. ` +
        "Do not await it in the handler, or give that work a batcher of its own.",
    );
  }
}
