// Describes series, and makes a meter's instruments from the descriptions. Names and units follow
// OpenTelemetry's rules: dots between namespaces, no unit in the name, seconds, `{thing}` for
// counts.

import type {
  Attributes,
  Counter,
  Histogram,
  Meter,
  MetricOptions,
  ObservableGauge,
  ObservableUpDownCounter,
} from "@opentelemetry/api";

/** The instruments by kind. Observed ones are read when metrics are collected. */
interface Kinds {
  readonly histogram: Histogram;
  readonly counter: Counter;
  /** A current number of things, which may be added up over batchers and processes. */
  readonly observedCount: ObservableUpDownCounter;
  readonly observedGauge: ObservableGauge;
}

/** The upper bounds of a histogram's buckets. */
const BOUNDARIES = {
  /** Seconds, for durations within one process: half a millisecond to five minutes. */
  seconds: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
  /** Seconds, for calls to a provider. */
  callSeconds: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
  /** Seconds, for work that takes a provider up to a day. */
  daySeconds: [1, 10, 60, 300, 900, 1_800, 3_600, 7_200, 14_400, 28_800, 57_600, 86_400, 93_600, 172_800],
  items: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096],
  cost: [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576],
  fill: [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1],
  ratio: [0.25, 0.5, 0.7, 0.8, 0.9, 0.95, 1, 1.05, 1.1, 1.25, 1.5, 2, 4],
  requests: [1, 10, 100, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000],
  tokens: [1e3, 1e4, 1e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 1e9],
} as const;

/** One series of a table. */
export interface Series {
  readonly kind: keyof Kinds;
  readonly name: string;
  readonly unit: string;
  readonly description: string;
  readonly buckets?: keyof typeof BOUNDARIES;
}

/** The instruments of a table of series, under the table's names. */
export type Instruments<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends { readonly kind: infer Kind extends keyof Kinds }
    ? Kinds[Kind]
    : never;
};

/** Makes an instrument for each series of a table. */
export function makeInstruments<Table extends Readonly<Record<string, Series>>>(
  meter: Meter,
  table: Table,
): Instruments<Table> {
  const entries = Object.entries(table).map(([key, series]) => [key, makeInstrument(meter, series)]);
  return Object.fromEntries(entries) as Instruments<Table>;
}

function makeInstrument(meter: Meter, { kind, name, unit, description, buckets }: Series): Kinds[keyof Kinds] {
  const options: MetricOptions = { unit, description };
  switch (kind) {
    case "histogram": {
      const explicitBucketBoundaries = [...BOUNDARIES[buckets ?? "seconds"]];
      return meter.createHistogram(name, { ...options, advice: { explicitBucketBoundaries } });
    }
    case "counter":
      return meter.createCounter(name, options);
    case "observedCount":
      return meter.createObservableUpDownCounter(name, options);
    case "observedGauge":
      return meter.createObservableGauge(name, options);
  }
}

/** The instruments that are read when metrics are collected. */
export function observedOf<Table extends Readonly<Record<string, Series>>>(
  table: Table,
  instruments: Instruments<Table>,
): (ObservableUpDownCounter | ObservableGauge)[] {
  const keys = Object.keys(table).filter((key) => table[key]?.kind.startsWith("observed"));
  return keys.map((key) => instruments[key as keyof Table] as ObservableGauge);
}

export function toSeconds(milliseconds: number): number {
  return milliseconds / 1_000;
}

/** The same text for the same labels, in any order. */
export function labelsText(attributes: Attributes): string {
  return JSON.stringify(Object.entries(attributes).sort(([one], [other]) => (one < other ? -1 : 1)));
}
