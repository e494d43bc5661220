/** The interface of a measure, and how a measure gets a place to work in. */
import type { Measurement } from "../harness/child.ts";

interface Measure {
  readonly run: (count: number) => Promise<Measurement>;
  /** Number of requests, unless the call sets it. */
  readonly count: number;
}

export type Measures = Readonly<Record<string, Measure>>;

/** A measure that works in a place: an open store, a file, a server. */
interface PlacedMeasure<Place> {
  readonly run: (place: Place, count: number) => Promise<Measurement>;
  readonly count: number;
}

/** Gives each measure its own place, which `within` makes and removes. */
export function at<Place>(
  measures: Readonly<Record<string, PlacedMeasure<Place>>>,
  within: (work: (place: Place) => Promise<Measurement>) => Promise<Measurement>,
): Measures {
  return Object.fromEntries(
    Object.entries(measures).map(([name, { run, count }]) => [
      name,
      { count, run: (asked: number) => within((place) => run(place, asked)) },
    ]),
  );
}
