// Reads the entries of several lines in the order of their ranks. A heap orders the lines by the
// ranks of their oldest entries. A line is opened only when needed, so thousands of lines cost as
// much as the lines of one batch.

import { Heap, HeapNode } from "../time/heap.ts";
import type { Reader } from "./chunk.ts";
import type { Entry } from "./entry.ts";

/** A source of entries in order, among others: a line of a lane. */
export interface Source {
  reader(upTo: number): Reader;
  /** The smallest goes first. */
  rankOf(entry: Entry): number;
}

/** A line that may have the next entry. Its key is the rank of its own next entry, or less. */
class Candidate extends HeapNode<HeapNode<Source>> {
  /** Null until it is opened. */
  reader: Reader | null = null;
  next: Entry | undefined;
}

export class Merged implements Reader {
  readonly #lines: Heap<Source>;
  readonly #candidates: Heap<HeapNode<Source>> = new Heap();
  readonly #upTo: number;

  /** Reads entries of moments up to this sequence. */
  constructor(lines: Heap<Source>, upTo: number) {
    this.#lines = lines;
    this.#upTo = upTo;
    this.#add(lines.first);
  }

  read(): Entry | undefined {
    for (;;) {
      const first = this.#candidates.first as Candidate | undefined;
      if (first === undefined) return undefined;
      const { reader, next } = first;
      if (reader === null) {
        this.#open(first);
      } else {
        this.#advance(first, reader);
        return next;
      }
    }
  }

  #add(place: HeapNode<Source> | undefined): void {
    if (place !== undefined) this.#candidates.put(new Candidate(place), place.key, place.tie, place.tier);
  }

  /** Opens the first candidate. The lines below it may come before its next entry. */
  #open(first: Candidate): void {
    const place = first.value;
    this.#add(this.#lines.below(place, 1));
    this.#add(this.#lines.below(place, 2));
    first.reader = place.value.reader(this.#upTo);
    this.#advance(first, first.reader);
  }

  /** Moves on to the next entry of a candidate. */
  #advance(candidate: Candidate, reader: Reader): void {
    const next = reader.read();
    candidate.next = next;
    if (next === undefined) this.#candidates.remove(candidate);
    else this.#candidates.put(candidate, candidate.value.value.rankOf(next), next.moment.at, candidate.tier);
  }
}
