// Detects handlers that wait for themselves and so never end: a handler that awaits its own
// batcher, or several that await each other's, while such batches take all slots; one that awaits
// an item equal to one of its own batch (`dedupe`); one that awaits `close()` or `idle()` of its
// own batcher. Warns once, after 1 s.
//
// A call is attributed to a handler while the handler runs synchronously, and after an `await` by
// its async context if the runtime has a cheap one (Node.js 24). Nothing is guessed: a batch whose
// handler has not called a batcher never counts, however slow it is. Whether the handler awaits its
// call cannot be known.

import type { Events } from "../contract/events.ts";
import type { ResolvedOptions } from "../contract/options.ts";
import type { BatchContext } from "../contract/types.ts";
import type { Entry } from "../queue/entry.ts";
import { cheapStorage } from "../time/async-context.ts";
import type { Clock } from "../time/clock.ts";
import { type Deadlines, Timeout } from "../time/deadlines.ts";

/** Time after which a batch counts as waiting for itself, in ms. */
const STUCK_MS = 1000;

/**
 * An async context costs about half a microsecond per batch, which is negligible for batches of
 * this duration.
 */
const LONG_RUN_MS = 1;

/** The services of a batcher that it needs. */
interface Watched {
  readonly name: string;
  readonly options: Pick<ResolvedOptions, "concurrency">;
  readonly clock: Clock;
  readonly events: Events;
  readonly deadlines: Deadlines;
}

/** A batch whose handler runs. */
export interface CallingBatch {
  readonly selfCalls: SelfCalls;
  readonly isOver: boolean;
  readonly holdsSlot: boolean;
  /** True once its handler runs in the async context of the batch. Set here. */
  isFollowed: boolean;
}

/** The last call of a handler. */
interface OwnCall {
  readonly timeout: Timeout;
  at: number;
  /** The batcher that it called. */
  to: SelfCalls;
  /**
   * The submitted entry, or the entry of its own batch that it joined; null after `close()` or
   * `idle()`.
   */
  entry: Entry | null;
}

/** The batch, of any batcher, whose handler runs synchronously now. */
let calling: CallingBatch | null = null;
let storage: ReturnType<typeof cheapStorage> | undefined;
/** Number of live batches that are followed. While there are none, no async context is read. */
let followed = 0;

export class SelfCalls {
  readonly #services: Watched;
  #isLong = true;
  #hasWarned = false;
  /** Calls by batch of this batcher. Created with the first call. */
  #calls: Map<CallingBatch, OwnCall> | null = null;

  constructor(services: Watched) {
    this.#services = services;
  }

  /** Calls the handler for a batch. */
  call(
    batch: CallingBatch,
    handler: (items: unknown[], context: BatchContext) => unknown,
    items: unknown[],
    context: BatchContext,
  ): unknown {
    const before = calling;
    calling = batch;
    try {
      if (!this.#isLong || this.#hasWarned) return handler(items, context);
      if (storage === undefined) storage = cheapStorage();
      if (storage === null) return handler(items, context);
      if (!batch.isFollowed) followed += 1;
      batch.isFollowed = true;
      return storage.run(batch, () => handler(items, context));
    } finally {
      calling = before;
    }
  }

  /**
   * True while a handler runs synchronously, or a handler of this batcher runs that has called one.
   */
  get isWatching(): boolean {
    return calling !== null || (this.#calls !== null && this.#calls.size > 0);
  }

  /** Call for an item submitted while it is watching, or for the first item of a turn. */
  note(entry: Entry): void {
    const batch = caller();
    if (batch !== undefined) batch.selfCalls.#add(batch, this, entry);
  }

  /** Called by `close()` and `idle()`, which wait for every batch. */
  noteEnd(): void {
    const batch = caller();
    if (batch?.selfCalls === this) this.#add(batch, this, null);
  }

  /** Call when an item that may have been noted shares the place of an equal one. */
  joined(entry: Entry, shared: Entry): void {
    const batch = caller();
    if (batch === undefined) return;
    const own = batch.selfCalls.#calls?.get(batch);
    if (own?.entry && (own.entry === entry || shared.keeper === (batch as unknown))) own.entry = shared;
  }

  /** Call when a batch has ended after this run time. */
  ended(batch: CallingBatch, runMs: number): void {
    this.#isLong = runMs >= LONG_RUN_MS;
    if (batch.isFollowed) followed -= 1;
    this.#calls?.get(batch)?.timeout.clear();
    this.#calls?.delete(batch);
  }

  #add(batch: CallingBatch, to: SelfCalls, entry: Entry | null): void {
    if (batch.isOver || this.#hasWarned) return;
    const at = this.#services.clock.now();
    this.#calls ??= new Map();
    let own = this.#calls.get(batch);
    if (own === undefined) {
      own = { entry, at, to, timeout: new Timeout(this.#services.deadlines) };
      this.#calls.set(batch, own);
    } else if (own.entry !== null && !isOfBatch(own.entry, batch)) {
      Object.assign(own, { entry, at, to });
    }
    if (!own.timeout.isSet) own.timeout.start(STUCK_MS, () => this.#look(batch));
  }

  /** Warns if the batch waits for itself, directly or with others. */
  #look(looking: CallingBatch): void {
    const own = this.#calls?.get(looking);
    if (this.#hasWarned || own === undefined) return;
    const restMs = own.at + STUCK_MS - this.#services.clock.now();
    if (restMs > 0) {
      own.timeout.start(restMs, () => this.#look(looking));
      return;
    }
    const circle = SelfCalls.#circleOf(looking);
    if (circle === null) return;
    const names = new Set<string>();
    for (const { selfCalls } of circle) {
      selfCalls.#hasWarned = true;
      names.add(`"${selfCalls.#services.name}"`);
    }
    let cause = `All slots of ${[...names].join(" and ")} are taken by handlers that submit to one another`;
    if (own.entry === null) cause = "A handler called close() or idle() of its own batcher";
    else if (isOfBatch(own.entry, looking))
      cause = "A handler submitted an item equal to one of its own batch (dedupe)";
    this.#services.events.warn(
      "SELF_CALL",
      `${cause}. A handler that awaits this never ends: call the function itself, or give that work a batcher of its own.`,
    );
  }

  /**
   * The batches that this one waits for, directly or through others, if each of them waits for one
   * of them; else null.
   */
  static #circleOf(first: CallingBatch): ReadonlySet<CallingBatch> | null {
    const circle = new Set([first]);
    for (const batch of circle) {
      const own = batch.selfCalls.#calls?.get(batch);
      if (own === undefined || own.at + STUCK_MS > batch.selfCalls.#services.clock.now()) return null;
      const { entry, to } = own;
      if (entry?.recipient === null) return null;
      if (entry?.isWaiting) {
        const callers = [...(to.#calls?.keys() ?? [])].filter(({ holdsSlot }) => holdsSlot);
        if (callers.length < to.#services.options.concurrency) return null;
        for (const each of callers) circle.add(each);
      } else if (entry !== null) {
        const holder = entry.keeper as unknown as CallingBatch | null;
        if (!holder?.selfCalls) return null;
        circle.add(holder);
      }
    }
    return circle;
  }
}

/** The batch whose handler is calling now, if any. */
function caller(): CallingBatch | undefined {
  return calling ?? (followed > 0 ? (storage?.getStore() as CallingBatch | undefined) : undefined);
}

/** True for an unanswered item of the batch itself. */
function isOfBatch(entry: Entry, batch: CallingBatch): boolean {
  return entry.recipient !== null && entry.keeper === (batch as unknown);
}
