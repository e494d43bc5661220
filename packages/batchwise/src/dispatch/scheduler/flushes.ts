// What `flush` was called for: requests enqueued by then are sealed without waiting for company.

export class Flushes {
  #allAt = Number.NEGATIVE_INFINITY;
  readonly #lanes: Map<string, number> = new Map();

  /** `lanes`: undefined for all. */
  add(now: number, lanes?: readonly string[]): void {
    if (lanes === undefined) this.#allAt = now;
    else for (const lane of lanes) this.#lanes.set(lane, now);
  }

  /** The time of the last flush that covers the lane; -Infinity for none. */
  lastOf(lane: string): number {
    return Math.max(this.#allAt, this.#lanes.get(lane) ?? Number.NEGATIVE_INFINITY);
  }
}
