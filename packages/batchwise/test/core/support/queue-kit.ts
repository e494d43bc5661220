// A queue to fill and to pack from, for tests of the engine's parts, with numbers as items. An
// entry is identified by its item.

import type { Caps, PackedBatch } from "../../../src/core/policy/caps.ts";
import { pack } from "../../../src/core/policy/pack.ts";
import { Entry, type EntryHolder } from "../../../src/core/queue/entry.ts";
import type { FlushedBatch } from "../../../src/core/queue/flush.ts";
import { Queue } from "../../../src/core/queue/queue.ts";
import type { Recipient } from "../../../src/core/queue/recipient.ts";
import { Moment } from "../../../src/core/time/turn.ts";

export interface NewEntry {
  readonly id: number;
  readonly cost?: number;
  readonly at?: number;
  readonly priority?: number;
  readonly isSmall?: boolean;
  readonly tenant?: string;
  readonly key?: string | undefined;
  readonly dueAt?: number;
  /** Sequence number of its moment. */
  readonly sequence?: number;
}

/** An entry outside any queue. */
export function entryOf(of: NewEntry): Entry {
  const {
    id,
    cost = 1,
    at = 0,
    priority = 0,
    isSmall = false,
    tenant = "",
    key,
    sequence = 0,
    dueAt = Number.POSITIVE_INFINITY,
  } = of;
  const recipient: Recipient = { countsItself: true, dueAt, isAborted: false, succeed: () => {}, fail: () => {} };
  const entry = new Entry(id, recipient, new Moment(at, sequence), 0);
  Object.assign(entry.ownFacts, { isSmall, tenant, key });
  return Object.assign(entry, { cost, priority });
}

/** The holder of entries that do not wait: a running batch, or nothing. */
export function otherHolder(): EntryHolder {
  return { isWaiting: false, left: () => {}, update: () => {} };
}

export const uncapped: Caps = {
  maxBatchSize: 1_000,
  maxBatchCost: Number.POSITIVE_INFINITY,
  batchCost: "sum",
};

const NOTHING = { size: 0, cost: 0, measured: null, first: () => [] };

export interface KitOptions {
  readonly isFair?: boolean;
  readonly isKeyed?: boolean;
  readonly priorityAgingMs?: number;
}

export class Kit {
  readonly queue: Queue;
  readonly #entries: Map<unknown, Entry> = new Map();
  #sequence = 0;

  constructor({ isFair = false, isKeyed = true, priorityAgingMs = Infinity }: KitOptions = {}) {
    this.queue = new Queue({ isFair, isKeyed, priorityAgingMs });
  }

  push(...entries: readonly NewEntry[]): this {
    for (const of of entries) {
      this.#sequence += 1;
      const entry = entryOf({ ...of, sequence: this.#sequence });
      this.#entries.set(of.id, entry);
      this.queue.push(entry);
    }
    return this;
  }

  entry(id: unknown): Entry {
    return this.#entries.get(id) as Entry;
  }

  /** Flushes the waiting entries. */
  flush(key: string | undefined, resting: readonly FlushedBatch[], done: () => void): void {
    this.queue.flush(key, this.#sequence, resting, done);
  }

  leave(...ids: readonly number[]): this {
    for (const id of ids) this.#entries.get(id)?.leave();
    return this;
  }

  raise(id: number, priority: number): this {
    const entry = this.entry(id);
    entry.holder?.update(entry, { priority, isSmall: false });
    return this;
  }

  /** Plans a batch of the most urgent lane; changes nothing. */
  plan(caps: Partial<Caps> = {}, lastSequence = Number.POSITIVE_INFINITY): PackedBatch {
    const all = { ...uncapped, ...caps };
    return pack(this.queue.mostUrgent ?? NOTHING, all, lastSequence);
  }

  /** Packs and takes a batch; returns its items. */
  take(caps: Partial<Caps> = {}): unknown[] {
    const plan = this.plan(caps);
    const items = plan.entries.map(({ item }) => item);
    this.queue.take(plan.entries, otherHolder());
    return items;
  }

  /** Takes batches until no entry waits. */
  takeAll(caps: Partial<Caps> = {}): unknown[][] {
    const batches: unknown[][] = [];
    while (this.queue.size > 0) batches.push(this.take(caps));
    return batches;
  }
}
