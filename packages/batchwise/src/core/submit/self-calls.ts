// Notices a handler that submits to its own batcher. Where it awaits that and all slots are taken by such batches, none of
// them ever ends; nor does a batch whose handler awaits an item equal to one of the batch (`dedupe`). After 1 s a warning
// says so, once.
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
  /** What the handler submitted last, or an item of the batch itself that it joined; and when. */
  entry: Entry;
  at: number;
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

  /** True while a handler runs synchronously, or one runs that has submitted. */
  get isWatching(): boolean {
    return this.calling !== null || this.#submits.size > 0;
  }

  /** To be called for an item that was submitted while it is watching, or that is the first of its turn. */
  note(entry: Entry): void {
    const batch = this.#caller();
    if (batch === undefined || batch.selfCalls !== this || batch.isOver || this.#hasWarned) return;
    const { at } = entry.moment;
    let own = this.#submits.get(batch);
    if (own === undefined) {
      own = { entry, at, timeout: new Timeout(this.#services.deadlines) };
      this.#submits.set(batch, own);
    } else if (!isOfBatch(own, batch)) {
      own.entry = entry;
      own.at = at;
    }
    if (!own.timeout.isSet) own.timeout.start(STUCK_MS, () => this.#look(batch));
  }

  /** To be called where an item that may have been noted shares the place of an equal one. */
  joined(entry: Entry, shared: Entry): void {
    if (this.#submits.size === 0) return;
    const batch = this.#caller();
    const own = batch && this.#submits.get(batch);
    if (own !== undefined && (own.entry === entry || shared.holder === (batch as unknown))) own.entry = shared;
  }

  #caller(): CallingBatch | undefined {
    return this.calling ?? (storage?.getStore() as CallingBatch | undefined);
  }

  /** A batch has ended that ran so long. */
  ended(batch: CallingBatch, runMs: number): void {
    this.#isLong = runMs >= LONG_RUN_MS;
    if (this.#submits.size === 0) return;
    this.#submits.get(batch)?.timeout.clear();
    this.#submits.delete(batch);
  }

  /** Warns where a batch waits for itself, or every slot is taken by a batch that waits for one without a slot. */
  #look(looking: CallingBatch): void {
    const own = this.#submits.get(looking);
    if (this.#hasWarned || own === undefined) return;
    const now = this.#services.clock.now();
    const restMs = own.at + STUCK_MS - now;
    if (restMs > 0) own.timeout.start(restMs, () => this.#look(looking));
    else if (isOfBatch(own, looking))
      this.#warn("A slot is taken by a handler that submitted an item equal to one of its own batch (dedupe)");
    else if (this.#isStuck(own, now)) this.#lookAtAll(now);
  }

  #lookAtAll(now: number): void {
    let stuck = 0;
    for (const [batch, own] of this.#submits) if (batch.holdsSlot && this.#isStuck(own, now)) stuck += 1;
    if (stuck < this.#concurrency) return;
    const slots = this.#concurrency === 1 ? "The one slot is" : `All ${stuck} slots are`;
    this.#warn(`${slots} taken by a handler that submitted to its own batcher`);
  }

  /** True where what it submitted waits, or is part of a batch that has submitted, too. */
  #isStuck({ entry, at }: OwnSubmit, now: number): boolean {
    if (entry.recipient === null || at + STUCK_MS > now) return false;
    return entry.isWaiting || this.#submits.has(entry.holder as never);
  }

  #warn(cause: string): void {
    this.#hasWarned = true;
    this.#services.events.warn(
      "SELF_CALL",
      `${cause}, for ${STUCK_MS} ms: if it awaits that, neither ends. ` +
        "Do not await it in the handler, or give that work a batcher of its own.",
    );
  }
}

/** True where it is an item of the batch itself, which has no answer yet. */
function isOfBatch({ entry }: OwnSubmit, batch: CallingBatch): boolean {
  return entry.recipient !== null && entry.holder === (batch as unknown);
}
