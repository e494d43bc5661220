// An entry is one submitted item: it waits in a line of the queue, then belongs to a batch. Only
// its holder knows its state. An answered or departed entry has no recipient. Thousands may wait,
// so an entry has only the fields of every item; rare fields are in its facts, and all plain
// entries share one facts object.

import type { Moment } from "../time/turn.ts";
import type { Recipient, Resolve } from "./recipient.ts";

/**
 * The holder of entries: a part of a line, a running batch, or the pending look-ups and
 * preparations. A part of a line stays their holder when a batch takes all of it.
 */
export interface EntryHolder {
  /** True while its entries wait, false while they run. */
  readonly isWaiting: boolean;
  /** The batch that has taken all of its entries, if one has: it holds them through this holder. */
  readonly taker?: EntryHolder | null;
  /**
   * Called when an entry has left early. `dueAt`: the deadline of its last caller; Infinity if
   * there was none.
   */
  left(entry: Entry, dueAt: number): void;
  /**
   * Call when one of several callers of an entry has come or left: its earliest deadline may have
   * changed. An entry that still waits gets the higher priority of both, and is small if either is.
   */
  update(entry: Entry, joined: Urgency): void;
}

/** What an item's rank depends on beside its submit time. */
export type Urgency = Pick<Entry, "priority" | "isSmall">;

/** Rare fields of an item. */
export class ItemFacts {
  /** True for an item of a call that goes before larger ones (`smallCallFirst`). */
  isSmall = false;
  key: string | undefined = undefined;
  tenant = "";
  context: unknown = undefined;
  /** The observer's captured value for its callers. */
  captured: unknown = undefined;
  /** Neighbours among the waiting entries of its tenant. */
  previous: Entry | null = null;
  next: Entry | null = null;
}

/** The facts of all plain items. Never changed. */
export const NO_FACTS: ItemFacts = new ItemFacts();

export class Entry {
  item: unknown;
  /** Null once it is answered or its caller has left. */
  recipient: Resolve | Recipient | null;
  /** The moment of its submit; of the end of its look-up if it had one. */
  moment: Moment;
  /** The item's place in its call, for recipients with many entries. */
  readonly position: number;
  cost = 1;
  priority = 0;
  facts: ItemFacts = NO_FACTS;
  holder: EntryHolder | null = null;

  constructor(item: unknown, recipient: Resolve | Recipient, moment: Moment, position: number) {
    this.item = item;
    this.recipient = recipient;
    this.moment = moment;
    this.position = position;
  }

  /** Its own facts, which may be changed. */
  get ownFacts(): ItemFacts {
    if (this.facts === NO_FACTS) this.facts = new ItemFacts();
    return this.facts;
  }

  get isSmall(): boolean {
    return this.facts.isSmall;
  }

  get key(): string | undefined {
    return this.facts.key;
  }

  get tenant(): string {
    return this.facts.tenant;
  }

  get isWaiting(): boolean {
    return this.holder?.isWaiting ?? false;
  }

  /** The batch that has it; its holder while it waits. */
  get keeper(): EntryHolder | null {
    return this.holder?.taker ?? this.holder;
  }

  isLessUrgentThan({ priority, isSmall }: Urgency): boolean {
    return priority > this.priority || (isSmall && !this.isSmall);
  }

  /** Call only while it is in no line. */
  raise({ priority, isSmall }: Urgency): void {
    if (priority > this.priority) this.priority = priority;
    if (isSmall) this.ownFacts.isSmall = true;
  }

  /** Called when its only caller has left. */
  callerLeft({ dueAt }: Pick<Recipient, "dueAt">): void {
    this.leave(dueAt);
  }

  /** Removes it from its holder without an answer. `dueAt`: see `EntryHolder.left`. */
  leave(dueAt: number = Infinity): void {
    if (this.recipient === null) return;
    this.recipient = null;
    const { holder } = this;
    holder?.left(this, dueAt);
    if (holder !== null && !holder.isWaiting) return;
    this.forget();
  }

  /** Drops the item and its caller's values, because callers may keep the entry for a while. */
  forget(): void {
    this.item = undefined;
    this.facts = NO_FACTS;
  }
}

/** The entries that are not answered and have not left. */
export function liveOf(entries: readonly Entry[]): readonly Entry[] {
  return entries.every(({ recipient }) => recipient !== null)
    ? entries
    : entries.filter(({ recipient }) => recipient !== null);
}
