// An entry is one item on its way: it waits in a line of the queue, then it is part of a batch.
// What it is now, only its holder knows. An entry that has been answered or has left has no
// recipient any more. Thousands may wait, so an entry holds what every item has; what few items
// have is in its facts, and one object stands for all plain ones.

import type { Moment } from "../time/turn.ts";
import type { Recipient, Resolve } from "./recipient.ts";

/**
 * Where entries are: a line of the queue, a running batch, or those that are looked up or prepared
 * first.
 */
export interface EntryHolder {
  /** True while its entries wait, false where they run. */
  readonly isWaiting: boolean;
  /**
   * Called when an entry has left early. Its last caller had until `dueAt`; Infinity where there
   * was no deadline.
   */
  left(entry: Entry, dueAt: number): void;
  /** Gives an entry a higher priority, if it still waits. */
  raise(entry: Entry, priority: number): void;
  /** To be called when the earliest deadline of an entry may have changed. */
  noteDeadline(entry: Entry): void;
}

/** What few items have. */
export class ItemFacts {
  /** Of a call that goes before larger ones (`smallCallFirst`). */
  isSmall = false;
  key: string | undefined = undefined;
  tenant = "";
  context: unknown = undefined;
  /** What the observer captured for its callers. */
  captured: unknown = undefined;
  signal: AbortSignal | undefined = undefined;
  /** Of its submit; undefined where that names none. */
  timeoutMs: number | undefined = undefined;
}

/** Stands for the facts of all items that have none. Never changed. */
const NO_FACTS: ItemFacts = new ItemFacts();

export class Entry {
  item: unknown;
  /** Null once its answer was given, or when its caller has left. */
  recipient: Resolve | Recipient | null;
  /** When it was submitted; of one that was looked up first, when that had ended. */
  moment: Moment;
  /** The place of the item in its call, for recipients with many entries. */
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

  /** Its facts, to be changed. */
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

  /** Called when its one caller has left. */
  callerLeft({ dueAt }: Pick<Recipient, "dueAt">): void {
    this.leave(dueAt);
  }

  /** Takes it out of where it is, without an answer. `dueAt`: see `EntryHolder.left`. */
  leave(dueAt: number = Infinity): void {
    if (this.recipient === null) return;
    this.recipient = null;
    const { holder } = this;
    holder?.left(this, dueAt);
    if (holder !== null && !holder.isWaiting) return;
    this.forget();
  }

  /**
   * Lets go of the item and of what its caller gave: a queue may keep the rest of it for a while.
   */
  forget(): void {
    this.item = undefined;
    this.facts = NO_FACTS;
  }
}

/** Those who have not left or been answered. */
export function liveOf(entries: readonly Entry[]): readonly Entry[] {
  return entries.every(({ recipient }) => recipient !== null)
    ? entries
    : entries.filter(({ recipient }) => recipient !== null);
}
