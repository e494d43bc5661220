// When each entry of a segment was submitted. Time is read once a turn, so neighbours mostly share it: stored are the
// turns, not the entries, and whatever is counted per entry can be counted per turn.

export class Moments {
  #first = 0;
  /** Where later turns begin, and their times; null while there is one turn only. */
  #starts: number[] | null = null;
  #times: number[] | null = null;
  #last = Number.NaN;

  /** Notes the time of the next entry, whose index is `index`. */
  add(index: number, time: number): void {
    if (time === this.#last) return;
    this.#last = time;
    if (index === 0) {
      this.#first = time;
      return;
    }
    this.#starts ??= [];
    this.#times ??= [];
    this.#starts.push(index);
    this.#times.push(time);
  }

  at(index: number): number {
    const starts = this.#starts;
    if (starts === null || index < (starts[0] as number)) return this.#first;
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] as number) <= index) low = middle;
      else high = middle;
    }
    return (this.#times as number[])[low] as number;
  }

  /** The first index behind `index` that belongs to a later turn; `length` where there is none. */
  endOfTurn(index: number, length: number): number {
    const starts = this.#starts;
    if (starts === null) return length;
    let low = 0;
    let high = starts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((starts[middle] as number) <= index) low = middle + 1;
      else high = middle;
    }
    return low === starts.length ? length : (starts[low] as number);
  }
}
