// Calls of `flush`: requests enqueued before are sealed without waiting for a full batch.

export class Flushes {
  #allAt = Number.NEGATIVE_INFINITY;
  readonly #lanes: Map<string, number> = new Map();

  /** `lanes`: undefined for all. */
  add(now: number, lanes?: readonly string[]): void {
    if (lanes === undefined) this.#allAt = now;
    else for (const lane of lanes) this.#lanes.set(lane, now);
  }

  /** Time of the last flush of the lane; -Infinity if there is none. */
  lastOf(lane: string): number {
    return Math.max(this.#allAt, this.#lanes.get(lane) ?? Number.NEGATIVE_INFINITY);
  }
}
