// The ready requests of all lanes, in claim order, and the shares of their tenants. Guarantees the order that the
// contract's head describes; does not know batches, caps or ledgers. The order of a lane is made when it is read and
// kept until the lane changes: arrivals are nearly sorted already, so that making it is close to linear.

import type { LaneRow, NewRequest } from "../../contract/rows.ts";
import type { MemoryRequest } from "./records.ts";

interface Lane {
  readonly requests: Set<MemoryRequest>;
  order: readonly MemoryRequest[] | null;
}

export class Waiting {
  readonly #lanes = new Map<string, Lane>();
  /** F of the contract, by lane, priority and tenant; V by lane and priority. */
  readonly #finished = new Map<string, number>();
  readonly #claimed = new Map<string, number>();

  /** The rank of a new request; counts its tokens for its tenant. */
  rank({ lane, priority, tenant, tokens }: NewRequest): number {
    const share = JSON.stringify([lane, priority, tenant]);
    const rank = Math.max(this.#claimed.get(`${priority} ${lane}`) ?? 0, this.#finished.get(share) ?? 0);
    this.#finished.set(share, rank + Math.max(1, tokens));
    return rank;
  }

  add(request: MemoryRequest): void {
    const lane = this.#lanes.get(request.lane) ?? { requests: new Set(), order: null };
    this.#lanes.set(request.lane, lane);
    lane.requests.add(request);
    lane.order = null;
  }

  remove(request: MemoryRequest): void {
    const lane = this.#lanes.get(request.lane);
    if (lane === undefined || !lane.requests.delete(request)) return;
    lane.order = null;
    if (lane.requests.size === 0) this.#lanes.delete(request.lane);
  }

  /** Takes what a seal claims, and moves the lane's V on. */
  claim(request: MemoryRequest): void {
    this.remove(request);
    const level = `${request.priority} ${request.lane}`;
    this.#claimed.set(level, Math.max(this.#claimed.get(level) ?? 0, request.rank));
  }

  inOrder(name: string): readonly MemoryRequest[] {
    const lane = this.#lanes.get(name);
    if (lane === undefined) return [];
    lane.order ??= [...lane.requests].sort((a, b) => b.priority - a.priority || a.rank - b.rank || a.seq - b.seq);
    return lane.order;
  }

  *all(): IterableIterator<MemoryRequest> {
    for (const lane of this.#lanes.values()) yield* lane.requests;
  }

  hasten(after: number, now: number): void {
    for (const request of this.all()) if (request.notBefore > after) request.notBefore = now;
  }

  rows(limit: number, now: number): LaneRow[] {
    return [...this.#lanes.keys()].map((name) => this.#row(name, limit, now));
  }

  #row(lane: string, limit: number, now: number): LaneRow {
    const row = { lane, ready: 0, bytes: 0, tokens: 0 };
    let [oldestAt, readySince, deadlineAt, deferredUntil] = [Infinity, Infinity, Infinity, Infinity];
    for (const request of this.inOrder(lane)) {
      deadlineAt = Math.min(deadlineAt, request.deadlineAt ?? Infinity);
      if (request.notBefore > now) deferredUntil = Math.min(deferredUntil, request.notBefore);
      else if (row.ready < limit) {
        row.ready += 1;
        row.bytes += request.bytes;
        row.tokens += request.tokens;
        oldestAt = Math.min(oldestAt, request.createdAt);
        readySince = Math.min(readySince, Math.max(request.createdAt, request.notBefore));
      }
    }
    const times = { oldestAt: known(oldestAt), readySince: known(readySince), deadlineAt: known(deadlineAt) };
    return { ...row, ...times, deferredUntil: known(deferredUntil) };
  }
}

/** A minimum over nothing is null. */
export function known(least: number): number | null {
  return least === Infinity ? null : least;
}
