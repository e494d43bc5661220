// What few entries of a segment have besides an item, a sink and a cost: a context, a number in their call, a deadline.
// Each is a column that exists from the first entry that needs it.

export class Extras {
  #contexts: unknown[] | null = null;
  #positions: number[] | null = null;
  #dues: number[] | null = null;
  /** How long after the very moment of its submit each deadline is. */
  #timeouts: number[] | null = null;
  /** The earliest deadline there, or earlier where that entry has gone; Infinity where there is none. */
  earliestDue: number = Number.POSITIVE_INFINITY;

  contextAt(index: number): unknown {
    return this.#contexts?.[index];
  }

  positionAt(index: number): number {
    return this.#positions?.[index] ?? 0;
  }

  dueAt(index: number): number {
    return this.#dues?.[index] ?? Number.POSITIVE_INFINITY;
  }

  timeoutAt(index: number): number {
    return this.#timeouts?.[index] ?? Number.POSITIVE_INFINITY;
  }

  setContext(index: number, context: unknown): void {
    this.#contexts ??= [];
    this.#contexts[index] = context;
  }

  setPosition(index: number, position: number): void {
    this.#positions ??= [];
    this.#positions[index] = position;
  }

  /** Numbers the entries from `index` on `from` to `to - 1`; room for `capacity` entries is made at once. */
  setPositions(index: number, from: number, to: number, capacity: number): void {
    const positions = this.#positions ?? new Array<number>(capacity);
    this.#positions = positions;
    for (let position = from; position < to; position += 1) positions[index + position - from] = position;
  }

  /** Gives an entry a deadline; true when it is the earliest now. */
  setDue(index: number, dueAt: number, timeoutMs: number): boolean {
    this.#dues ??= [];
    this.#timeouts ??= [];
    this.#dues[index] = dueAt;
    this.#timeouts[index] = timeoutMs;
    if (dueAt >= this.earliestDue) return false;
    this.earliestDue = dueAt;
    return true;
  }

  /** Takes over what the entry at `index` of another segment has. */
  copy(source: Extras, index: number, at: number): void {
    if (source.#contexts !== null) this.setContext(at, source.contextAt(index));
    if (source.#positions !== null) this.setPosition(at, source.positionAt(index));
    if (source.#dues !== null) this.setDue(at, source.dueAt(index), source.timeoutAt(index));
  }
}
