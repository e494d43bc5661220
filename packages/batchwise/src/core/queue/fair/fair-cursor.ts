// Deficit round robin read ahead: whose entry is next, round by round, without changing whose turn it is.

import type { Cursor } from "../cursor.ts";
import type { Fifo } from "../fifo.ts";
import type { Segment } from "../segment.ts";
import type { FairRing } from "./fair-ring.ts";
import type { Tenant } from "./tenant.ts";

/** Rounds in which nobody can pay are made one by one up to here, which is exact; what is left of them is counted. */
const MOST_ROUNDS = 64;

/** Reads the ring ahead on drafts, so that reading again from the start gives the same order. */
export class FairCursor implements Cursor {
  readonly #ring: FairRing;
  readonly #number: number;
  readonly #quantum: number;
  readonly #lastEpoch: number;
  readonly #visited: Tenant[] = [];
  #current: Tenant;
  #before: Tenant;

  constructor(ring: FairRing, current: Tenant, lastEpoch: number) {
    this.#ring = ring;
    ring.cursors += 1;
    this.#number = ring.cursors;
    this.#quantum = ring.quantum;
    this.#lastEpoch = lastEpoch;
    this.#current = current;
    this.#before = current.previous;
    this.#visit(this.#before);
    this.#visit(current);
    if (!ring.turnBegun) this.#grant(current);
    this.#seek();
  }

  /** A cursor over what the ring holds up to an epoch, or undefined where nobody waits. */
  static over(ring: FairRing, lastEpoch: number): FairCursor | undefined {
    return ring.current === null ? undefined : new FairCursor(ring, ring.current, lastEpoch);
  }

  get segment(): Segment | null {
    return this.#current.draftSegment;
  }

  get index(): number {
    return this.#current.draftIndex;
  }

  get fifo(): Fifo {
    return this.#ring.arrivals.fifo;
  }

  get runEnd(): number {
    return this.index + 1;
  }

  advanceTo(): void {
    const tenant = this.#current;
    if (tenant.draftSegment === null) return;
    tenant.draftDeficit -= this.#charge(tenant);
    this.#ring.arrivals.advance(tenant, this.#lastEpoch);
    this.#seek();
  }

  commit(): void {
    for (const tenant of this.#visited) {
      tenant.deficit = tenant.draftDeficit;
      tenant.draftSegment = null;
    }
    this.#ring.current = this.#current;
    this.#ring.turnBegun = true;
  }

  /**
   * Moves on to the first tenant, from the current one on, that can pay for its next entry; to nowhere if all are done.
   * After many rounds in which nobody can, those until somebody can are granted at once.
   */
  #seek(): void {
    let firstPoor: Tenant | null = null;
    let rounds = 0;
    for (;;) {
      const tenant = this.#current;
      if (tenant.draftSegment === null) {
        if (tenant.draftNext === tenant) return;
        this.#before.draftNext = tenant.draftNext;
      } else {
        if (this.#charge(tenant) <= tenant.draftDeficit) return;
        if (tenant === firstPoor) rounds += 1;
        if (rounds === MOST_ROUNDS) {
          this.#skipRounds();
          return;
        }
        firstPoor ??= tenant;
        this.#before = tenant;
      }
      this.#current = tenant.draftNext;
      this.#visit(this.#current);
      this.#grant(this.#current);
    }
  }

  /** Nobody in the ring can pay: grants all the rounds up to the one in which the first of them can, and moves to it. */
  #skipRounds(): void {
    const last = this.#current;
    let before = last;
    let fewest = Number.POSITIVE_INFINITY;
    for (let tenant = last.draftNext; ; tenant = tenant.draftNext) {
      const rounds = this.#roundsToPay(tenant);
      if (rounds < fewest) {
        fewest = rounds;
        this.#current = tenant;
        this.#before = before;
      }
      before = tenant;
      if (tenant === last) break;
    }
    const first = this.#current;
    let rounds = fewest;
    for (let tenant = last.draftNext; ; tenant = tenant.draftNext) {
      tenant.draftDeficit += rounds * this.#quantum;
      if (tenant === first) rounds -= 1;
      if (tenant === last) break;
    }
    first.draftDeficit = Math.max(first.draftDeficit, this.#charge(first));
  }

  #roundsToPay(tenant: Tenant): number {
    const rounds = Math.ceil((this.#charge(tenant) - tenant.draftDeficit) / this.#quantum);
    return Math.min(rounds, Number.MAX_SAFE_INTEGER);
  }

  #grant(tenant: Tenant): void {
    if (tenant.draftSegment !== null) tenant.draftDeficit += this.#quantum;
  }

  #charge(tenant: Tenant): number {
    const cost = tenant.draftSegment?.costAt(tenant.draftIndex) ?? 0;
    return cost > 0 ? cost : this.#quantum;
  }

  #visit(tenant: Tenant): void {
    if (tenant.draftOf === this.#number) return;
    tenant.draftOf = this.#number;
    this.#ring.arrivals.open(tenant, this.#lastEpoch);
    tenant.draftDeficit = tenant.deficit;
    tenant.draftNext = tenant.next;
    this.#visited.push(tenant);
  }
}
