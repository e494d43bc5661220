// An entry is one item on its way: it waits in a line of the queue, then it is part of a batch. What it is now, only its
// holder knows. An entry that has been answered or has left has no recipient any more.

import type { Moment } from "../time/turn.ts";
import type { Recipient, Resolve } from "./recipient.ts";

/** A line of the queue or a running batch: where entries are. */
export interface EntryHolder {
  /** True while its entries wait, false where they run. */
  readonly isWaiting: boolean;
  /** Called when an entry has left early. */
  left(entry: Entry): void;
  /** Gives an entry a higher priority, if it still waits. */
  raise(entry: Entry, priority: number): void;
  /** To be called when the earliest deadline of an entry may have changed. */
  noteDeadline(entry: Entry): void;
}

export class Entry {
  item: unknown;
  /** Null once its answer was given, or when its caller has left. */
  recipient: Resolve | Recipient | null;
  /** The place of the item in its call, for recipients with many entries. */
  readonly position: number;
  /** When it was submitted; of one that was looked up first, when that had ended. */
  moment: Moment;
  cost = 1;
  priority = 0;
  /** Of a call that goes before larger ones (`smallCallFirst`). */
  isSmall = false;
  key: string | undefined = undefined;
  tenant = "";
  context: unknown = undefined;
  /** How many flushes there were when it came into the queue. */
  epoch = 0;
  holder: EntryHolder | null = null;

  constructor(item: unknown, recipient: Resolve | Recipient, position: number, moment: Moment) {
    this.item = item;
    this.recipient = recipient;
    this.position = position;
    this.moment = moment;
  }

  get isWaiting(): boolean {
    return this.holder?.isWaiting ?? false;
  }

  /** Called when its one caller has left. */
  callerLeft(): void {
    this.leave();
  }

  /** Takes it out of where it is, without an answer. */
  leave(): void {
    if (this.recipient === null) return;
    this.recipient = null;
    if (this.holder === null || this.holder.isWaiting) {
      // A queue may keep the rest of it for a while.
      this.item = undefined;
      this.context = undefined;
    }
    this.holder?.left(this);
  }
}
