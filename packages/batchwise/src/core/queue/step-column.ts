// A column of numbers in which neighbours mostly have the same one, such as the time of their turn or their priority:
// stored are the steps, not the entries, and whatever is counted per entry can be counted per step.

export class StepColumn {
  #first = 0;
  /** Where later steps begin, and their values; null while there is one step only. */
  #starts: number[] | null = null;
  #values: number[] | null = null;
  #last = Number.NaN;

  /** How many runs of entries there are, each with one value; 1 also while there is no entry. */
  get steps(): number {
    return this.#starts === null ? 1 : this.#starts.length + 1;
  }

  /** The value of the nth run, from 0 on. */
  nth(step: number): number {
    return step === 0 ? this.#first : ((this.#values as number[])[step - 1] as number);
  }

  /** The end of the nth run; `length` for the last. */
  endOfNth(step: number, length: number): number {
    const starts = this.#starts;
    return starts === null || step === starts.length ? length : (starts[step] as number);
  }

  /** The smallest value. */
  least(): number {
    let least = this.#first;
    if (this.#values !== null) for (const value of this.#values) if (value < least) least = value;
    return least;
  }

  /** Notes the value of the entries from `index` on. */
  add(index: number, value: number): void {
    if (value === this.#last) return;
    this.#last = value;
    if (index === 0) {
      this.#first = value;
      return;
    }
    this.#starts ??= [];
    this.#values ??= [];
    this.#starts.push(index);
    this.#values.push(value);
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
    return (this.#values as number[])[low] as number;
  }

  /** The first index behind `index` that belongs to a later step; `length` where there is none. */
  endOfStep(index: number, length: number): number {
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
