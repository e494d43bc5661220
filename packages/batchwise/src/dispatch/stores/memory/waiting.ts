// The ready requests of all lanes in claim order, and the shares of their tenants. Guarantees the
// order in the contract's header. Knows no batches, caps or ledgers. A lane is sorted when it is
// read and stays sorted until it changes: arrivals are nearly sorted, so this is close to linear.

import type { Amended, Amendment } from "../../contract/store/calls.ts";
import type { LaneRow } from "../../contract/store/probe.ts";
import type { NewRequest } from "../../contract/store/rows.ts";
import type { MemoryRequest } from "./records.ts";

interface Lane {
  readonly requests: Set<MemoryRequest>;
  order: readonly MemoryRequest[] | null;
}

interface Level {
  claimed: number;
  readonly finished: Map<string, number>;
  /** At this number of tenants, tenants behind V are dropped. */
  sweepAt: number;
}

const FIRST_SWEEP = 64;

function sweep(level: Level): void {
  for (const [tenant, finished] of level.finished) if (finished <= level.claimed) level.finished.delete(tenant);
  level.sweepAt = Math.max(FIRST_SWEEP, 2 * level.finished.size);
}

export class Waiting {
  readonly #lanes = new Map<string, Lane>();
  /** F and V of the contract, by priority and lane; only for lanes with enqueues. */
  readonly #levels = new Map<string, Level>();

  /** The rank of a new request. Counts its tokens for its tenant. */
  rank({ lane, priority, tenant, tokens }: NewRequest): number {
    const name = `${priority} ${lane}`;
    const level = this.#levels.get(name) ?? { claimed: 0, finished: new Map(), sweepAt: FIRST_SWEEP };
    this.#levels.set(name, level);
    const rank = Math.max(level.claimed, level.finished.get(tenant) ?? 0);
    level.finished.set(tenant, rank + Math.max(1, tokens));
    if (level.finished.size >= level.sweepAt) sweep(level);
    return rank;
  }

  /** A request that was added before and has waited, been claimed or ended since. */
  addAgain(request: MemoryRequest, lane: string, notBefore: number): void {
    Object.assign(request, { state: "ready", lane, notBefore });
    this.add(request);
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

  /** Removes a request that a seal claims, and advances the lane's V. */
  claim(request: MemoryRequest): void {
    this.remove(request);
    const level = this.#levels.get(`${request.priority} ${request.lane}`);
    if (level !== undefined) level.claimed = Math.max(level.claimed, request.rank);
  }

  inOrder(name: string): readonly MemoryRequest[] {
    const lane = this.#lanes.get(name);
    if (lane === undefined) return [];
    lane.order ??= [...lane.requests].sort(
      (a, b) => b.priority - a.priority || a.rank - b.rank || a.arrival - b.arrival,
    );
    return lane.order;
  }

  *all(): IterableIterator<MemoryRequest> {
    for (const lane of this.#lanes.values()) yield* lane.requests;
  }

  hasten(after: number, now: number): void {
    for (const request of this.all()) if (request.notBefore > after) request.notBefore = now;
  }

  move({ lane, to, before, limit, least = 1 }: Extract<Amendment, { kind: "move" }>): Amended[] {
    const all = this.inOrder(lane);
    const near = (by: number) => all.filter(({ deadlineAt }) => deadlineAt !== null && deadlineAt < by);
    const chosen = before === null ? all.slice(0, limit) : earliestFirst(near(before), limit);
    if (chosen.length < least) return [];
    return chosen.map((request) => {
      this.remove(request);
      request.lane = to;
      this.add(request);
      return { id: request.id, result: "changed" };
    });
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

/** The first `limit` of these requests by deadline. All have one. */
export function earliestFirst(requests: readonly MemoryRequest[], limit: number): MemoryRequest[] {
  const inOrder = requests.toSorted((a, b) => (a.deadlineAt ?? 0) - (b.deadlineAt ?? 0) || a.arrival - b.arrival);
  return inOrder.slice(0, limit);
}

/** The minimum of no values is null. */
export function known(least: number): number | null {
  return least === Infinity ? null : least;
}
