// Deficit round robin read ahead, without side effects until `commit`.

import type { Entry } from "../entry.ts";
import type { EntryReader } from "../fifo.ts";
import { chargeOf, type Tenant } from "./tenant.ts";

/**
 * Rounds without a payer are simulated one by one up to this number, which is exact; further ones
 * are computed at once.
 */
const MOST_ROUNDS = 64;

/** The order's state: the tenant of the round, and whether its quantum is granted. */
interface Rounds {
  readonly quantum: number;
  current: Tenant | null;
  isGranted: boolean;
}

/** This reader's state of a tenant. */
interface Draft {
  readonly tenant: Tenant;
  readonly reader: EntryReader;
  deficit: number;
  /** The next tenant of this reader's ring, which omits tenants without more entries. */
  next: Tenant;
}

export class FairReader implements EntryReader {
  readonly #order: Rounds;
  readonly #quantum: number;
  readonly #lastSequence: number;
  readonly #drafts: Map<Tenant, Draft> = new Map();
  #current: Draft;
  #before: Draft;

  constructor(order: Rounds, current: Tenant, lastSequence: number) {
    this.#order = order;
    this.#quantum = order.quantum;
    this.#lastSequence = lastSequence;
    this.#before = this.#draftOf(current.previous);
    this.#current = this.#draftOf(current);
    if (!order.isGranted) this.#grant(this.#current);
    this.#seek();
  }

  get entry(): Entry | null {
    return this.#current.reader.entry;
  }

  ahead(): Entry[] {
    return [this.entry as Entry];
  }

  advance(): void {
    const { reader } = this.#current;
    if (reader.entry === null) return;
    this.#current.deficit -= chargeOf(reader.entry, this.#quantum);
    reader.advance(1);
    this.#seek();
  }

  commit(): void {
    for (const { tenant, reader, deficit } of this.#drafts.values()) {
      reader.commit();
      tenant.deficit = deficit;
    }
    this.#order.current = this.#current.tenant;
    this.#order.isGranted = true;
  }

  /**
   * Moves to the first tenant, from the current one on, that can pay for its next entry; to none if
   * all are done. After many rounds without a payer, grants all rounds until the next payment at
   * once.
   */
  #seek(): void {
    let firstPoor: Draft | null = null;
    let rounds = 0;
    for (;;) {
      const draft = this.#current;
      const { entry } = draft.reader;
      if (entry === null) {
        if (draft.next === draft.tenant) return;
        this.#before.next = draft.next;
      } else {
        if (chargeOf(entry, this.#quantum) <= draft.deficit) return;
        if (draft === firstPoor) rounds += 1;
        if (rounds === MOST_ROUNDS) {
          this.#skipRounds();
          return;
        }
        firstPoor ??= draft;
        this.#before = draft;
      }
      this.#current = this.#draftOf(draft.next);
      this.#grant(this.#current);
    }
  }

  /** No tenant can pay: grants all rounds until the first one can, and moves to it. */
  #skipRounds(): void {
    const last = this.#current;
    const ring = this.#ringAfter(last);
    let first = 0;
    let fewest = Infinity;
    // Spreading many tenants into `Math.min` would overflow the stack.
    for (const [index, draft] of ring.entries()) {
      const rounds = this.#roundsToPay(draft);
      if (rounds >= fewest) continue;
      first = index;
      fewest = rounds;
    }
    for (const [index, draft] of ring.entries()) {
      draft.deficit = sumOf(draft.deficit, (index <= first ? fewest : fewest - 1) * this.#quantum);
    }
    this.#current = ring[first] as Draft;
    this.#before = ring[(first + ring.length - 1) % ring.length] as Draft;
    const entry = this.#current.reader.entry as Entry;
    this.#current.deficit = Math.max(this.#current.deficit, chargeOf(entry, this.#quantum));
  }

  /** The tenants of this reader's ring, from the one after `last` to `last`. */
  #ringAfter(last: Draft): Draft[] {
    const ring: Draft[] = [];
    for (let draft = this.#draftOf(last.next); ; draft = this.#draftOf(draft.next)) {
      ring.push(draft);
      if (draft === last) return ring;
    }
  }

  #roundsToPay({ reader, deficit }: Draft): number {
    const rounds = Math.ceil((chargeOf(reader.entry as Entry, this.#quantum) - deficit) / this.#quantum);
    return Math.min(rounds, Number.MAX_SAFE_INTEGER);
  }

  #grant(draft: Draft): void {
    if (draft.reader.entry !== null) draft.deficit = sumOf(draft.deficit, this.#quantum);
  }

  #draftOf(tenant: Tenant): Draft {
    const known = this.#drafts.get(tenant);
    if (known !== undefined) return known;
    const { deficit, next } = tenant;
    const draft = { tenant, reader: tenant.fifo.reader(this.#lastSequence), deficit, next };
    this.#drafts.set(tenant, draft);
    return draft;
  }
}

/** Capped, so that a tenant's credit stays finite. */
function sumOf(deficit: number, granted: number): number {
  return Math.min(deficit + granted, Number.MAX_VALUE);
}
