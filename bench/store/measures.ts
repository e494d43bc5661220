/** What a measure is, and how those that want a place to work in get one. */
import type { Measurement } from "../harness/child.ts";

interface Measure {
  readonly run: (count: number) => Promise<Measurement>;
  /** How many requests, where the call does not say. */
  readonly count: number;
}

export type Measures = Readonly<Record<string, Measure>>;

/** One that works somewhere: in an open store, in a file, on a server. */
interface PlacedMeasure<Place> {
  readonly run: (place: Place, count: number) => Promise<Measurement>;
  readonly count: number;
}

/** Gives each measure a place of its own, which `within` makes and removes. */
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
