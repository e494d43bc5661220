// Places requests that share a cached prefix in the lanes of batches/seal/cache-lanes.ts. Counts
// them in this process's memory; the lanes are in the store. A wrong count costs cache reads and
// nothing else: after a restart, and in another process, a prefix may have another first request.

import {
  CACHE_SLOTS,
  type CacheRole,
  type CacheSlot,
  cacheLaneName,
  cacheLaneOf,
} from "../../batches/seal/cache-lanes.ts";
import { CACHED_MS, isOver, LEAST_SHARED, type Primings, primingMark } from "../../batches/seal/cache-state.ts";
import type { CachedPrefix } from "../../contract/cached-prefix.ts";
import type { EnqueueResult } from "../../contract/store/calls.ts";
import type { NewRequest } from "../../contract/store/rows.ts";
import { inLane } from "../check/intake.ts";

/** Prefixes that are counted; the oldest are forgotten. */
const MOST_PREFIXES = 50_000;

/** Slots in use, of all lanes: each has a mark that every process reads. */
const MOST_IN_USE = 200;

/** A prefix in a lane. */
interface Counted {
  count: number;
  /** The slot and time of its first request; null while too few share it. */
  placed: { readonly slot: CacheSlot; readonly at: number } | null;
  /** The next request's place. */
  role: CacheRole;
  /** Its first request has been sent. */
  isSent: boolean;
}

export interface PlacingInput {
  /** The cached prefix of a request; undefined if it has none. */
  readonly prefixOf: (row: NewRequest) => CachedPrefix | undefined;
  /** As last read. */
  readonly primings: () => Primings;
  readonly now: () => number;
  /** A lane closes after this time, in ms. */
  readonly maxAgeMs: number;
}

export class CachePlacing {
  readonly #input: PlacingInput;
  readonly #prefixes: Map<string, Counted> = new Map();
  /** A repeated store call has the same lanes. */
  readonly #placed: WeakMap<NewRequest, NewRequest> = new WeakMap();

  constructor(input: PlacingInput) {
    this.#input = input;
  }

  /** The rows in their lanes, in the same order. */
  place(rows: readonly NewRequest[]): NewRequest[] {
    const shared = new Map<string, NewRequest[]>();
    for (const row of rows) {
      const prefix = this.#input.prefixOf(row);
      if (prefix === undefined || prefix.lastsMs < CACHED_MS || this.#placed.has(row)) continue;
      const name = `${prefix.digest} ${row.lane}`;
      const group = shared.get(name);
      if (group === undefined) shared.set(name, [row]);
      else group.push(row);
    }
    for (const [name, group] of shared) this.#placeGroup(name, group);
    return rows.map((row) => this.#placed.get(row) ?? row);
  }

  /** Call with the answers for these rows: a first request may have been stored before. */
  settle(rows: readonly NewRequest[], answers: readonly EnqueueResult[]): void {
    for (const [index, row] of rows.entries()) {
      const prefix = this.#input.prefixOf(row);
      if (prefix === undefined || answers[index] === "stored") continue;
      const placed = cacheLaneOf(this.#placed.get(row)?.lane ?? "");
      if (placed?.role === "first") this.#prefixes.delete(`${prefix.digest} ${row.lane}`);
    }
  }

  #placeGroup(name: string, rows: readonly NewRequest[]): void {
    const base = (rows[0] as NewRequest).lane;
    const prefix = this.#counted(name, base);
    prefix.count += rows.length;
    if (prefix.count < LEAST_SHARED) return;
    const slot = prefix.placed?.slot ?? this.#freeSlot(base);
    if (slot === null) return;
    prefix.placed ??= { slot, at: this.#input.now() };
    for (const row of rows) {
      this.#placed.set(row, inLane(row, cacheLaneName({ base, slot, role: prefix.role })));
      prefix.role = prefix.role === "first" ? "next" : "rest";
    }
  }

  #counted(name: string, base: string): Counted {
    const known = this.#prefixes.get(name);
    if (known !== undefined && !this.#isOver(known, base)) return known;
    const made: Counted = { count: 0, placed: null, role: "first", isSent: false };
    this.#prefixes.delete(name);
    this.#prefixes.set(name, made);
    for (const oldest of this.#prefixes.keys()) {
      if (this.#prefixes.size <= MOST_PREFIXES) break;
      this.#prefixes.delete(oldest);
    }
    return made;
  }

  /** True if a later request of the prefix needs another first one. */
  #isOver(prefix: Counted, base: string): boolean {
    if (prefix.placed === null) return false;
    const { slot, at } = prefix.placed;
    const priming = this.#input.primings().get(primingMark({ base, slot }));
    const now = this.#input.now();
    prefix.isSent ||= priming !== undefined;
    if (priming !== undefined && priming.phase !== "open" && !isOver(priming, now)) return false;
    return prefix.isSent || at + Math.min(this.#input.maxAgeMs, CACHED_MS) <= now;
  }

  /**
   * Requests that come while the first ones of a slot run wait in another one. null: none is free,
   * and they are ordinary requests.
   */
  #freeSlot(base: string): CacheSlot | null {
    const primings = this.#input.primings();
    const isFree = (slot: CacheSlot): boolean => {
      const priming = primings.get(primingMark({ base, slot }));
      return priming === undefined || priming.until + CACHED_MS <= this.#input.now();
    };
    const isBounded = primings.size < MOST_IN_USE;
    return isBounded ? (CACHE_SLOTS.find(isFree) ?? null) : null;
  }
}
