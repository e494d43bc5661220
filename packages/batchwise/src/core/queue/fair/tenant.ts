// One tenant of a line: its entries, and how much it has been served.

import { HeapNode } from "../../time/heap.ts";
import type { Entry } from "../entry.ts";
import type { EntryReader, Fifo } from "../fifo.ts";
import type { EntrySource } from "../merged-reader.ts";

/** What the tenants of a line share. */
export interface Account {
  /** The finish of what was served last. */
  readonly now: number;
  /** What a tenant pays for an entry. */
  chargeOf(entry: Entry): number;
  /** A number above all that it returned before. */
  turn(): number;
  /** A tenant has been served up to this finish. */
  served(tenant: Tenant, finish: number, tie: number): void;
}

export class Tenant implements EntrySource {
  readonly name: string;
  readonly fifo: Fifo;
  readonly #account: Account;
  /** Its place among the tenants by the finish of its next entry, and by the age of that. */
  readonly byFinish: HeapNode<Tenant> = new HeapNode<Tenant>(this);
  readonly byAge: HeapNode<Tenant> = new HeapNode<Tenant>(this);
  /** The finish of the last entry that it was served. One that joins starts where the others are. */
  #finish: number;

  constructor(name: string, account: Account, fifo: Fifo) {
    this.name = name;
    this.fifo = fifo;
    this.#account = account;
    this.#finish = account.now;
  }

  /** The finish of its next entry: never Infinity, so that tenants take turns also at the end of all numbers. */
  finishOf(next: Entry, before: number = this.#finish): number {
    return Math.min(before + this.#account.chargeOf(next), Number.MAX_VALUE);
  }

  /** It pays for an entry that is taken out of its turn. */
  charge(entry: Entry): void {
    this.#finish = this.finishOf(entry);
  }

  reader(lastSequence: number): EntryReader {
    return this.fifo.reader(lastSequence);
  }

  keyOf(next: Entry, passedKey: number | null): number {
    if (passedKey === null && next === this.fifo.oldest) return this.byFinish.key;
    return this.finishOf(next, passedKey ?? this.#finish);
  }

  /** Of those with the same finish, the one that was served last goes last. */
  tieOf(_next: Entry | null, passedKey: number | null): number {
    return passedKey === null ? this.byFinish.tie : this.#account.turn();
  }

  commit(passedKey: number, tie: number): void {
    this.#finish = passedKey;
    this.#account.served(this, passedKey, tie);
  }
}
